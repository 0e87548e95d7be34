// SPDX-License-Identifier: Apache-2.0
#include "model/nic/nic.h"

#include <fmt/format.h>

#include <stdexcept>
#include <utility>

namespace rxnic {

namespace {

constexpr std::uint32_t kRegister = 2;  // entries of a link that only passes on one value a cycle

// Never full, so not a parameter: a block refuses at most two packets a cycle, the checker takes all in the next.
constexpr std::uint32_t kRefusals = 8;

// Not hardware, and never full: notifies the host of visible CQEs, events and replies; it takes them in the next cycle.
constexpr std::uint32_t kLanded = 64;

PacketPool::Quotas quotas(const Params& p, const NicOptions& o) {
  PacketPool::Quotas q;
  q.receive = PacketPool::kNoLimit;
  q.response = p.ack_generator.packet_buffers;
  q.request = o.requester ? p.requester.packet_buffers : 0;
  return q;
}

}  // namespace

NicParts::NicParts(const Params& p, const NicOptions& options, const Cycle* now)
    : shared(quotas(p, options), now, p.srq_wqe_fetcher.wqe_store_entries,
             p.qp_context_cache.sets * p.qp_context_cache.ways) {}

template <class T>
Link<T>& NicParts::link(const std::string& name, std::uint32_t capacity) {
  auto made = std::make_unique<Link<T>>(name.c_str(), capacity);
  Link<T>& ref = *made;
  links_.push_back(std::move(made));
  return ref;
}

template <class Ports>
Ports& NicParts::place(const MakeBlock<Ports>& make, const char* block, const BlockPlace& at) {
  auto made = make ? make(block, at) : nullptr;
  if (made == nullptr) throw std::invalid_argument(fmt::format("NicBlocks::{}: found none; expected a block", block));
  Ports& ref = *made;
  blocks_.push_back(std::move(made));
  return ref;
}

BlocksOfNic NicParts::make_blocks(const NicOptions& options, const BlockPlace& at) {
  const NicBlocks& make = options.blocks;
  return {
      .rx_buffer = place(make.rx_buffer, "rx_buffer", at),
      .rx_parser = place(make.rx_parser, "rx_parser", at),
      .qp_context_cache = place(make.qp_context_cache, "qp_context_cache", at),
      .transport_checker = place(make.transport_checker, "transport_checker", at),
      .tag_match_cam = place(make.tag_match_cam, "tag_match_cam", at),
      .srq_wqe_fetcher = place(make.srq_wqe_fetcher, "srq_wqe_fetcher", at),
      .grh_scatter = place(make.grh_scatter, "grh_scatter", at),
      .address_translator = place(make.address_translator, "address_translator", at),
      .dma_engine = place(make.dma_engine, "dma_engine", at),
      .cqe_generator = place(make.cqe_generator, "cqe_generator", at),
      .ack_generator = place(make.ack_generator, "ack_generator", at),
      .command_processor = place(make.command_processor, "command_processor", at),
      .requester = options.requester ? &place(make.requester, "requester", at) : nullptr,
  };
}

std::vector<Block*> NicParts::blocks() {
  std::vector<Block*> all;
  for (const auto& block : blocks_) all.push_back(block.get());
  return all;
}

// Last of all: an engine does not get parts of a NIC that has thrown.
void NicParts::add_to(Engine& engine) const {
  for (const auto& block : blocks_) engine.add(*block);
  for (const auto& made : links_) engine.add(*made);
}

Nic::Nic(const sc_core::sc_module_name& name, const Params& p, HostMemory& memory, Engine& engine,
         const NicOptions& options)
    : sc_module(name),
      NicParts(p, options, &engine.now()),
      BlocksOfNic(make_blocks(options, {p, shared, memory, engine, options.policies})),
      limits{p.requester.send_queues, p.device.max_srqs},
      wire_in(link<WireFrame>("wire_in", kRegister)),
      wire_out(link<WireFrame>("wire_out", p.ack_generator.tx_depth)),
      requests_out(link<WireFrame>("requests_out", kRegister)),
      requests(link<RequestNotice>("requests", p.nic.notice_depth)),
      commands(link<SendCompletion>("commands", p.nic.notice_depth)),
      tag_operations(link<TagOperation>("tag_operations", p.nic.doorbell_depth)),
      send_doorbells(link<Doorbell>("send_doorbells", p.nic.doorbell_depth)),
      receive_doorbells(link<Doorbell>("receive_doorbells", p.nic.doorbell_depth)),
      completion_doorbells(link<Doorbell>("completion_doorbells", p.nic.doorbell_depth)),
      landed(link<HostNotice>("landed", kLanded)),
      receive_events(link<Event>("receive_events", kLanded)),
      completion_events(link<Event>("completion_events", kLanded)),
      send_events(link<Event>("send_events", kLanded)),
      page_requests(link<Event>("page_requests", kLanded)),
      page_replies(link<Doorbell>("page_replies", p.nic.doorbell_depth)),
      command_queue(link<DriverCommand>("command_queue", p.command_processor.queue_depth)),
      command_replies(link<CommandReply>("command_replies", kLanded)) {
  const auto join = [&]<class T>(Out<T>& from, In<T>& to, std::uint32_t depth) {
    auto& made = link<T>(std::string(from.get_parent_object()->basename()) + "_" + from.basename(), depth);
    from.bind(made);
    to.bind(made);
  };
  rx_buffer.in.bind(wire_in);
  join(rx_buffer.out, rx_parser.in, kRegister);
  join(rx_parser.out, qp_context_cache.in, p.rx_parser.out_depth);
  join(qp_context_cache.out, transport_checker.in, p.qp_context_cache.queue_depth);
  join(transport_checker.to_cam, tag_match_cam.in, p.transport_checker.queue_depth);
  join(transport_checker.to_fetcher, srq_wqe_fetcher.in, p.transport_checker.queue_depth);
  join(tag_match_cam.out, srq_wqe_fetcher.tagged, p.tag_match_cam.queue_depth);
  join(srq_wqe_fetcher.out, grh_scatter.in, p.srq_wqe_fetcher.queue_depth);
  srq_wqe_fetcher.lists.bind(shared.wqes);
  srq_wqe_fetcher.pins.bind(shared.pins);
  grh_scatter.lists.bind(shared.wqes);
  join(grh_scatter.out, address_translator.in, p.grh_scatter.queue_depth);
  join(address_translator.out, dma_engine.payload, p.address_translator.queue_depth);
  join(dma_engine.payload_done, cqe_generator.in, p.dma_engine.queue_depth);
  join(cqe_generator.out, ack_generator.in, p.cqe_generator.queue_depth);
  join(cqe_generator.flushes, srq_wqe_fetcher.flushes, p.nic.notice_depth);
  join(cqe_generator.released, srq_wqe_fetcher.released, kRegister);
  join(ack_generator.gather, address_translator.gather_in, p.ack_generator.queue_depth);
  join(address_translator.gather_out, dma_engine.gather, p.address_translator.queue_depth);
  join(dma_engine.gathered, ack_generator.gathered, p.dma_engine.queue_depth);
  ack_generator.tx.bind(wire_out);

  join(srq_wqe_fetcher.returned, tag_match_cam.returned, p.nic.notice_depth);
  join(ack_generator.failures, cqe_generator.failures, p.nic.notice_depth);
  Out<Refusal>* const refusers[kRefusers] = {&srq_wqe_fetcher.refusals,    &grh_scatter.refusals,
                                             &address_translator.refusals, &dma_engine.refusals,
                                             &cqe_generator.refusals,      &ack_generator.refusals};
  for (std::size_t n = 0; n < kRefusers; ++n) join(*refusers[n], transport_checker.refusals[n], kRefusals);
  transport_checker.requests.bind(requests);
  qp_context_cache.commands.bind(commands);
  dma_engine.landed.bind(landed);

  // Over PCI Express, as the accesses of the blocks to host memory below.
  dma_engine.tag_operations.bind(tag_operations);
  join(dma_engine.tags_given, tag_match_cam.operations, kRegister);
  dma_engine.receive_doorbells.bind(receive_doorbells);
  join(dma_engine.receive_rung, srq_wqe_fetcher.doorbells, kRegister);
  dma_engine.completion_doorbells.bind(completion_doorbells);
  join(dma_engine.completion_rung, cqe_generator.doorbells, kRegister);
  join(srq_wqe_fetcher.events, dma_engine.receive_events, p.nic.event_depth);
  dma_engine.receive_raised.bind(receive_events);
  join(cqe_generator.events, dma_engine.completion_events, p.nic.event_depth);
  dma_engine.completion_raised.bind(completion_events);
  join(address_translator.page_requests, dma_engine.page_requests, p.nic.event_depth);
  dma_engine.page_raised.bind(page_requests);
  dma_engine.page_replies.bind(page_replies);
  join(dma_engine.page_replied, address_translator.page_replies, kRegister);

  const auto dma = [&](DmaClient client, Out<DmaRequest>& request, In<DmaCompletion>& done) {
    const auto n = static_cast<std::size_t>(client);
    const std::string of = std::string(request.get_parent_object()->basename()) + "_";
    auto& asks = link<DmaRequest>(of + request.basename(), p.dma_engine.queue_depth);
    request.bind(asks);
    dma_engine.requests[n].bind(asks);
    auto& answers = link<DmaCompletion>(of + done.basename(), p.dma_engine.queue_depth);
    dma_engine.completions[n].bind(answers);
    done.bind(answers);
  };
  dma(DmaClient::kContext, qp_context_cache.dma, qp_context_cache.dma_done);
  dma(DmaClient::kWqe, srq_wqe_fetcher.dma, srq_wqe_fetcher.dma_done);
  dma(DmaClient::kTag, tag_match_cam.dma, tag_match_cam.dma_done);
  dma(DmaClient::kTranslation, address_translator.dma, address_translator.dma_done);
  dma(DmaClient::kCqe, cqe_generator.dma, cqe_generator.dma_done);
  dma(DmaClient::kResponse, ack_generator.dma, ack_generator.dma_done);
  dma(DmaClient::kQueueContext, srq_wqe_fetcher.context_dma, srq_wqe_fetcher.context_dma_done);
  dma(DmaClient::kCqContext, cqe_generator.context_dma, cqe_generator.context_dma_done);
  dma(DmaClient::kCommand, command_processor.dma, command_processor.dma_done);

  CommandProcessorPorts& commander = command_processor;
  dma_engine.commands.bind(command_queue);
  join(dma_engine.commands_given, commander.commands, kRegister);
  join(commander.replies, dma_engine.replies, kRegister);
  dma_engine.replied.bind(command_replies);
  join(commander.cqs, cqe_generator.commands, kRegister);
  join(cqe_generator.command_replies, commander.cq_replies, kRegister);
  join(commander.regions, address_translator.commands, kRegister);
  join(address_translator.command_replies, commander.region_replies, kRegister);
  join(commander.retirements, ack_generator.commands, kRegister);
  join(ack_generator.command_done, commander.retired, kRegister);
  join(commander.fences, dma_engine.fences, kRegister);
  join(dma_engine.fenced, commander.fenced, kRegister);
  join(commander.wqs, srq_wqe_fetcher.commands, kRegister);
  join(srq_wqe_fetcher.command_replies, commander.wq_replies, kRegister);
  join(commander.srqs, transport_checker.srqs, kRegister);
  join(transport_checker.srq_done, commander.srq_done, kRegister);
  join(commander.tag_lists, tag_match_cam.lists, kRegister);
  join(tag_match_cam.list_done, commander.tag_list_done, kRegister);
  join(commander.contexts, qp_context_cache.contexts, kRegister);
  join(qp_context_cache.context_replies, commander.context_replies, kRegister);
  join(commander.qps, transport_checker.commands, kRegister);
  join(transport_checker.command_replies, commander.qp_replies, kRegister);
  join(commander.steering, rx_parser.commands, kRegister);
  join(rx_parser.command_done, commander.steering_done, kRegister);

  if (requester != nullptr) {
    dma_engine.send_doorbells.bind(send_doorbells);
    join(dma_engine.send_rung, requester->doorbells, kRegister);
    join(requester->events, dma_engine.send_events, p.nic.event_depth);
    dma_engine.send_raised.bind(send_events);
    dma(DmaClient::kSendWqe, requester->wqe_dma, requester->wqe_dma_done);
    dma(DmaClient::kSendPayload, requester->payload_dma, requester->payload_dma_done);
    requester->notices.bind(requests);
    requester->tx.bind(requests_out);
    requester->completions.bind(commands);
    join(commander.send_queues, requester->commands, kRegister);
    join(requester->command_done, commander.send_queue_done, kRegister);
    join(requester->windows, commander.windows, kRegister);
    join(commander.windows_done, requester->windows_done, kRegister);
    join(transport_checker.answers, requester->answers, p.nic.notice_depth);
    join(transport_checker.places, requester->places, kRegister);
    join(cqe_generator.failed, requester->failed, p.nic.notice_depth);
    join(cqe_generator.placed, requester->placed, kRegister);
    join(cqe_generator.rendezvous, requester->rendezvous, kRegister);
    join(requester->rendezvous_places, srq_wqe_fetcher.rendezvous_places, kRegister);
  }

  add_to(engine);
}

}  // namespace rxnic
