// SPDX-License-Identifier: Apache-2.0
// What a part of the model calls when something has happened, set by the program that embeds the model. It may be set
// anew, or taken away, while it is being called: the call goes on with what was called.
#pragma once

#include <functional>
#include <memory>
#include <utility>

namespace rxnic {

template <class... Arguments>
class Handler {
 public:
  using Function = std::function<void(Arguments...)>;

  void set(Function function) {
    function_ = function ? std::make_shared<const Function>(std::move(function)) : nullptr;
  }
  void operator()(Arguments... arguments) const {
    if (const auto called = function_) (*called)(arguments...);
  }

 private:
  std::shared_ptr<const Function> function_;  // null: nothing is called
};

}  // namespace rxnic
