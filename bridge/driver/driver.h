// SPDX-License-Identifier: Apache-2.0
// The driver of one NIC: keeps the objects that programs create, allocates doorbell records, and sends events to the
// objects' owners. It turns the control requests of bridge/channel/protocol.h into commands for the NIC.
//
//   R1  Nothing that comes from a program is trusted: every handle, number, offset and size is checked before anything
//       is changed. Refusals: EINVAL (foreign, unknown or impossible), EBUSY (in use), ENOMEM (a limit of the NIC is
//       reached, whichever programs have the objects), EOPNOTSUPP, EHOSTUNREACH.
//   R2  A ring lies in the heap of the client's mapping, aligned to 64 bytes. Its slots and stride are powers of two
//       that the device takes. In each board a doorbell record belongs to one queue at a time.
//   R3  Keys are index << 8 | tag; the tag changes with each use of an index. lkey and rkey are equal.
//   R4  A QP without a receive queue has one that no program can post to.
//   R5  A request that has to wait is executed again until it is done; its checks are not repeated. It waits for a
//       command that it has given (kGiven) or for something else (kBusy).
//   R6  An object that is being destroyed takes no doorbells and raises no events. Doorbells that were rung before
//       reach a QP before the command that frees it, as writes of a host do. So what was posted last is still sent.
//   R7  A region has pages of the size of the program's mapping, or of the largest smaller size that fits. A size fits
//       when the addresses of the program and of the region (iova) lie alike in its pages.
//   R8  A send WQE that is posted alone is written to the NIC with its doorbell, up to requester.doorbell_wqe_bytes. No
//       WQE is written so when the program has rung several doorbells since the last look (shared_mapping.h R4).
//   R9  Operations on the tag list of a TM SRQ are given to the NIC in the order in which they were written. In a cycle
//       as many are given as the NIC's link takes. An operation of an unknown kind is a sync that says nothing. When a
//       doorbell announces more operations than the ring holds, only the newest are given.
//   R10 A QP on a TM SRQ is RC and has no send queue of its own: the device sends on it.
//   R11 XRC. A domain belongs to a file, or to one client, and exists while a client has a handle of it. A handle that
//       a QP or SRQ was made with is in use (EBUSY). An SRQ completes on a CQ of its own. An XRC_RECV QP has neither
//       PD, CQs nor queues. Who has a handle of its domain may open it (kOpenQp) and has then the same rights as its
//       owner. An XRC_SEND QP has no receive queue, and is in no domain.
//   R12 Pages of an on-demand region are absent until the NIC asks for them or a program advises it. What is asked for
//       is present host.page_fault_ps later, with the pages behind it, host.page_fault_pages in all. Advice takes that
//       time as often as its pages need. A region of the whole address space has a tree, whose tables are made as pages
//       come and count as its client's pages. A page that the program does not have mapped then, or for whose tables no
//       room is left, does not exist. None becomes absent again.
//   R13 A flow names a RAW_PACKET QP of its client, or a QP of kCreateRss, which are in use by it (EBUSY). The queues
//       of such a QP are RAW_PACKET QPs of its client without a send queue, and as long in use.
//   R14 A PD and device memory may be imported by other clients, which then may do with them what their owner may. With
//       its owner's end one of these clients becomes its owner. A region is its owner's, and goes with its owner.
//       Windows that are bound to the region, whoever's they are, allow nothing from then on; who has the region's PD
//       may free it.
//   R15 A null region has no memory, pages or rkey (model/core/memory/translation.h, R8). It is not reregistered.
//   R16 A counters object adds up what its flows count, those that are gone too. It is in use by flows (EBUSY).
//   R17 What a request asks for is done in pieces of bounded size, and others' requests and commands go on between
//       them. Who asks for much waits for it. For a region kPagesAtOnce entries are written at a time, in a cycle each.
//       Pages that are advised take kCyclesOfAPage at least. The QPs of a client that ends are silenced kSilencedAtOnce
//       a command. The end of a client does not wait for what it has asked for and no command carries out.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "bridge/driver/attributes.h"
#include "bridge/driver/doorbell_line.h"
#include "bridge/driver/numbers.h"
#include "bridge/driver/objects.h"
#include "model/types/event.h"
#include "model/types/host_memory.h"

namespace rxnic {

// What has become of a request.
enum class CommandResult : std::uint8_t {
  kDone,
  kBusy,  // it waits
  kGiven  // it waits for the reply to a command of the NIC
};

// A control request that is being carried out. `message` becomes the reply.
struct Command {
  channel::Message message;
  bool begun = false;     // checked, and the NIC has been asked
  Cycle due{};            // kReadClock: of the reply
  std::uint8_t step = 0;  // of several commands: those that are done
  Ticket ticket = 0;      // of the command that is waited for
};

class Driver {
 public:
  Driver(std::uint32_t number, std::uint32_t nics, NicAddresses addresses, const Params& params, Nic& nic,
         HostMemory& memory);

  const channel::DeviceAttributes& attributes() const { return attributes_; }
  // 0, or the errno that the client is refused with.
  std::int32_t open(ClientId client);
  CommandResult execute(ClientId client, Command& command, Cycle now);  // (R5)
  // Frees the client's objects, each after those that refer to it.
  CommandResult close(ClientId client);
  // Sends a program's doorbell to the NIC, where it arrives in cycle `arrival`.
  void ring(ClientId client, channel::Board board, std::uint32_t index, std::uint64_t value, Cycle now, Cycle arrival);

  // An event for a program. channel 0: the asynchronous one.
  struct Notice {
    ClientId client{};
    std::uint32_t channel = 0;
    channel::EventRecord record;
  };
  std::optional<Notice> notice_of(const Event& event) const;
  // (R12) `of_requester`: who asks, and gets the answer, when there is room for it.
  void request_page(const Event& request, bool of_requester, Cycle now);
  bool answer_pages(Out<Doorbell>& translator, Out<Doorbell>& requester, Cycle now);
  std::size_t page_work() const { return page_work_.size(); }
  Cycle next_page(Cycle now) const;  // when an answer is due
  std::optional<Notice> qp_notice(channel::EventKind kind, Qpn qpn) const;
  std::vector<ClientId> other_holders(const Notice& notice) const;  // of the QP that it is about (R11)
  std::optional<ClientId> owner_of(Cqn cq) const;
  // The request has freed an object that has events: the client has no handle of it any more.
  bool has_let_go(ClientId client, const channel::Message& carried_out);

  CommandQueue& commands() { return commands_; }
  DoorbellLine& receive_line() { return receive_line_; }
  DoorbellLine& completion_line() { return completion_line_; }
  DoorbellLine& send_line() { return send_line_; }
  DoorbellLine& tag_line() { return tag_line_; }  // of tag_line().deliver: give_tags()
  bool give_tags(const Doorbell& rung, Out<TagOperation>& out, Cycle now);
  // Doorbells that have not entered their links.
  std::size_t doorbells() const {
    return receive_line_.size() + completion_line_.size() + send_line_.size() + tag_line_.size();
  }
  std::size_t objects() const {
    return pds_.size() + regions_.size() + windows_.size() + device_memories_.size() + cqs_.size() + srqs_.size() +
           qps_.size() + xrcds_.size() + flows_.size() + rss_.size() + counters_.size();
  }

 private:
  using Objects = ClientObjects;
  using Records = std::vector<ClientObjects::Record>;
  struct PageWork {  // pages to be made present
    Key key{};
    std::uint64_t va = 0, pages = 0;
    Cycle due{};
    ClientId client{};          // that has given the advice
    std::uint64_t each_ps = 0;  // advice: time for host.page_fault_pages of them
    std::uint32_t number = 0;   // of the page request that is answered; 0: advice
    bool of_requester = false;
  };

  // device_memory.cpp
  CommandResult allocate_pd(ClientId client, Command& c);
  CommandResult free_pd(ClientId client, Command& c);
  CommandResult register_memory(ClientId client, Command& c, Cycle now);
  CommandResult begin_region(ClientId client, Command& c);
  CommandResult reregister_memory(ClientId client, Command& c, Cycle now);
  CommandResult free_memory(ClientId client, Command& c);
  std::int32_t check_region(ClientId client, const channel::Memory& m) const;
  static MptEntry entry_of(Key key, const RegionObject& region);
  CommandResult install_region(Key key, RegionObject& region, Command& c, Cycle now);
  CommandResult forget_region(Key key);
  CommandResult take_from_nic(Key key, RegionObject& region, bool& in_use);
  CommandResult destroy_region(Key key);
  CommandResult end_region(Key key);
  CommandResult release(Objects& closing, Key window);
  std::optional<Key> take_key();
  CommandResult allocate_window(ClientId client, Command& c);
  CommandResult free_window(ClientId client, Command& c);
  CommandResult destroy_window(Key key);
  // device_paging.cpp
  std::optional<std::uint64_t> add_table(RegionObject& region);
  void free_tables(RegionObject& region);
  std::optional<BusAddress> make_entry(RegionObject& region, const MptEntry& entry, std::uint64_t va);
  bool is_present(const Event& request);
  std::uint64_t make_present(Key key, std::uint64_t va, std::uint64_t count);
  std::uint64_t present_or_none(const PageWork& work);
  bool go_on(PageWork& advice, Cycle now);
  CommandResult advise_memory(ClientId client, Command& c, Cycle now);
  // device_own_memory.cpp
  CommandResult allocate_device_memory(ClientId client, Command& c);
  CommandResult free_device_memory(ClientId client, Command& c);
  CommandResult copy_device_memory(ClientId client, Command& c, bool to_device);
  std::int32_t check_device_region(ClientId client, const channel::Memory& m) const;
  void give_back(const DeviceMemoryObject& memory);
  // device_queues.cpp
  CommandResult create_channel(ClientId client, Command& c);
  CommandResult free_channel(ClientId client, Command& c);
  CommandResult create_cq(ClientId client, Command& c);
  CommandResult resize_cq(ClientId client, Command& c);
  CommandResult modify_cq(ClientId client, Command& c);
  CommandResult free_cq(ClientId client, Command& c);
  std::int32_t check_srq(ClientId client, const channel::SharedReceiveQueue& asked);
  CommandResult create_srq(ClientId client, Command& c);
  CommandResult modify_srq(ClientId client, Command& c);
  CommandResult query_srq(ClientId client, Command& c);
  CommandResult free_srq(ClientId client, Command& c);
  CommandResult destroy_cq(Cqn cq);
  CommandResult destroy_srq(Srqn srq);
  void forget_cq(Cqn cq);
  void forget_srq(Srqn srq);
  // device_qps.cpp
  CommandResult create_qp(ClientId client, Command& c);
  CommandResult modify_qp(ClientId client, Command& c);
  CommandResult query_qp(ClientId client, Command& c);
  CommandResult free_qp(ClientId client, Command& c);
  std::optional<std::uint32_t> take_qp_number();
  std::int32_t check_qp(ClientId client, const channel::QueuePair& asked);
  std::int32_t apply(const channel::QpAttributes& asked, QpState next, SendQpContext& context,
                     channel::QpAttributes& set) const;
  CommandResult begin_modify(Command& c, QpObject& qp, QpState state);
  CommandResult destroy_qp(Qpn qpn);
  void forget_qp(Qpn qpn);
  void count_user(const QpObject& qp, std::uint32_t one);
  bool doorbells_wait(const QpObject& qp) const;
  void drop_doorbells(const QpObject& qp);
  // device_steering.cpp
  CommandResult attach_multicast(ClientId client, Command& c);
  CommandResult detach_multicast(ClientId client, Command& c);
  CommandResult leave_groups(QpObject& qp);
  std::uint32_t* flows_of(ClientId client, std::uint32_t qpn);
  CommandResult create_flow(ClientId client, Command& c);
  CommandResult free_flow(ClientId client, Command& c);
  CommandResult destroy_flow(std::uint32_t number);
  void forget_flow(std::uint32_t number);
  CommandResult create_counters(ClientId client, Command& c);
  CommandResult free_counters(ClientId client, Command& c);
  CommandResult read_counters(ClientId client, Command& c);
  CommandResult create_rss(ClientId client, Command& c);
  CommandResult free_rss(ClientId client, Command& c);
  CommandResult destroy_rss(Qpn qpn);
  void forget_rss(Qpn qpn);
  void count_queues(const RssObject& rss, std::uint32_t one);
  // device_xrc.cpp
  CommandResult open_xrcd(ClientId client, Command& c);
  CommandResult close_xrcd(ClientId client, Command& c);
  CommandResult open_qp(ClientId client, Command& c);
  QpObject* held(ClientId client, std::uint32_t qpn);
  bool pass_on(QpObject& qp, ClientId from);
  void leave_domains(ClientId client);
  void forget_xrcd(std::uint32_t number);
  // device_import.cpp
  CommandResult import(ClientId client, Command& c);
  template <class Object>
  bool hand_on(Object& object, ClientId from);
  void leave_imports(ClientId client);
  // driver.cpp
  CommandResult resolve_path(Command& c) const;
  // Fills in the MAC; otherwise an errno: there is no such path.
  std::int32_t complete(AddressVector& path) const;
  CommandResult read_clock(Command& c, Cycle now) const;
  CommandResult await(Ticket& ticket, CommandReply* reply = nullptr);
  CommandResult silence(ClientId client);
  Cycle after(Cycle now, std::uint64_t ps) const;

  template <class Map>
  auto* owned(Map& objects, ClientId client, std::uint32_t number) const {
    const auto it = objects.find(number);
    return it != objects.end() && it->second.owner == client ? &it->second : nullptr;
  }
  // One that the client owns or has imported. (R14)
  template <class Map>
  auto* shared(Map& objects, ClientId client, std::uint32_t number) const {
    const auto it = objects.find(number);
    const bool is_its = it != objects.end() && (it->second.owner == client || it->second.importers.contains(client));
    return is_its ? &it->second : nullptr;
  }
  static bool is_free(const Records& records, std::uint32_t index);
  static void assign(Records& records, std::uint32_t index, std::uint32_t number);
  static void release(Records& records, std::uint32_t index);

  const std::uint32_t number_, nics_;
  const NicAddresses addresses_;
  const NicParams timing_;
  const HostParams host_;
  const std::uint32_t doorbell_wqe_bytes_;
  const channel::DeviceAttributes attributes_;
  const WqLayout srq_layout_;
  HostMemory& memory_;
  CommandQueue commands_;
  DoorbellLine receive_line_, completion_line_, send_line_, tag_line_;

  std::map<ClientId, Objects> clients_;
  std::map<std::uint32_t, PdObject> pds_;
  std::map<std::uint32_t, RegionObject> regions_;  // by key
  std::map<std::uint32_t, WindowObject> windows_;  // by key
  std::map<std::uint32_t, DeviceMemoryObject> device_memories_;
  std::map<std::uint32_t, CqObject> cqs_;
  std::map<std::uint32_t, SrqObject> srqs_;
  std::map<std::uint32_t, QpObject> qps_;
  std::set<std::pair<Address, Qpn>> groups_;
  std::map<std::uint32_t, FlowObject> flows_;
  std::uint32_t last_flow_ = 0;             // the parser takes their numbers for their order
  std::map<std::uint32_t, RssObject> rss_;  // by QPN
  std::map<std::uint32_t, CountersObject> counters_;
  std::map<std::uint32_t, XrcdObject> xrcds_;
  std::map<std::uint32_t, XrcDomainObject> domains_;
  std::map<XrcFile, Xrcdn> xrc_files_;  // of the domains that belong to one
  std::uint32_t last_domain_ = 0;
  NumberPool pd_numbers_, key_indices_, cq_numbers_, srq_numbers_, qp_numbers_, xrcd_numbers_, device_memory_numbers_,
      counters_numbers_;
  std::map<std::uint32_t, std::uint8_t> key_tags_;  // by index: of its last use
  std::set<std::uint32_t> key_indices_used_;
  RangePool mtt_, device_memory_;
  std::vector<PageWork> page_work_;
};

// `c.message` is the reply: refused with a positive errno.
inline CommandResult refuse(Command& c, std::int32_t error) {
  c.message.status = error;
  return CommandResult::kDone;
}

// R17.
inline constexpr std::uint64_t kPagesAtOnce = 512;
inline constexpr std::uint64_t kCyclesOfAPage = 64;
inline constexpr std::size_t kSilencedAtOnce = 256;

inline constexpr std::uint64_t kMaxPagesOfClient = std::uint64_t{1} << 22;  // 16 GiB; bounds the simulator's memory

// Strides of receive queues (work_queue.h): kMaxSge segments and a next segment at most.
inline constexpr std::uint32_t kMinReceiveStride = 32;
inline constexpr std::uint32_t kMaxReceiveStride = 1024;

// (R2) `slots` * `stride` bytes at this offset of the mapping.
bool ring_fits(std::uint64_t offset, std::uint32_t slots, std::uint32_t stride);
BusAddress ring_address(ClientId client, std::uint64_t offset);

}  // namespace rxnic
