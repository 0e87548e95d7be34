// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/report/cqe_log.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "model/params/private_file.h"
#include "model/types/send_opcode.h"

namespace rxnic {

const char* wc_status_name(WcStatus s) {
  switch (s) {
    case WcStatus::kSuccess:
      return "SUCCESS";
    case WcStatus::kLocalLength:
      return "LOC_LEN_ERR";
    case WcStatus::kLocalQpOperation:
      return "LOC_QP_OP_ERR";
    case WcStatus::kLocalProtection:
      return "LOC_PROT_ERR";
    case WcStatus::kFlushed:
      return "WR_FLUSH_ERR";
    case WcStatus::kWindowBind:
      return "MW_BIND_ERR";
    case WcStatus::kRemoteInvalidRequest:
      return "REM_INV_REQ_ERR";
    case WcStatus::kRemoteAccess:
      return "REM_ACCESS_ERR";
    case WcStatus::kRemoteOperation:
      return "REM_OP_ERR";
    case WcStatus::kRetryExceeded:
      return "RETRY_EXC_ERR";
    case WcStatus::kRnrRetryExceeded:
      return "RNR_RETRY_EXC_ERR";
    case WcStatus::kGeneral:
      return "GENERAL_ERR";
    case WcStatus::kTagMatch:
      return "TM_ERR";
    case WcStatus::kRendezvousIncomplete:
      return "TM_RNDV_INCOMPLETE";
  }
  return "?";
}

CqeLog::CqeLog(const std::string& path, std::uint32_t clock_period_ps)
    : path_(path), period_ps_(clock_period_ps), file_(open_to_write(path, Links::kOfOwner)) {
  write(std::string(kHeader));
}

void CqeLog::on_cqe(Cqn cq, const Cqe& c, Cycle polled) {
  write(fmt::format("{},{},{},{},{},{},{},{},{},{:#x},{},{:#x},{:#x}\n", c.timestamp * period_ps_,
                    polled.count * period_ps_, raw(cq), c.qp_number, c.srq_number, cqe_opcode_name(c.opcode),
                    wc_status_name(c.status), c.wqe_index, c.byte_count, c.immediate_or_rkey, c.source_qp, c.tag,
                    c.flags));
}

void CqeLog::write(const std::string& line) {
  if (std::fputs(line.c_str(), file_.get()) < 0) refuse();
}

void CqeLog::refuse() const { throw std::runtime_error(fmt::format("{}: {}", path_, std::strerror(errno))); }

void CqeLog::close() {
  if (std::fclose(file_.release()) != 0) refuse();
}

}  // namespace rxnic
