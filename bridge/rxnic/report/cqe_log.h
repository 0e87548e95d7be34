// SPDX-License-Identifier: Apache-2.0
// Every completion as a line of CSV, in the order in which the host polled them. Times are model time.
#pragma once

#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

#include "model/system/host_model.h"

namespace rxnic {

const char* wc_status_name(WcStatus s);  // as ibv_wc_status_str's enumerators: "SUCCESS", "LOC_LEN_ERR"

class CqeLog final : public CqeObserver {
 public:
  static constexpr std::string_view kHeader =
      "built_ps,polled_ps,cqn,qpn,srqn,opcode,status,wqe_index,byte_count,immediate,source_qp,tag,flags\n";

  // All of this throws std::runtime_error when the file cannot be written.
  CqeLog(const std::string& path, std::uint32_t clock_period_ps);
  void on_cqe(Cqn cq, const Cqe& cqe, Cycle polled) override;
  void close();

 private:
  struct Closer {
    void operator()(std::FILE* f) const { std::fclose(f); }
  };
  void write(const std::string& line);
  [[noreturn]] void refuse() const;

  std::string path_;
  std::uint64_t period_ps_;
  std::unique_ptr<std::FILE, Closer> file_;
};

}  // namespace rxnic
