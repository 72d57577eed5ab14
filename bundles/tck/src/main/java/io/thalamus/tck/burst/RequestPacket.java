// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.burst;

import io.thalamus.hal.MemoryPool;
import io.thalamus.hal.Request;
import io.thalamus.hal.Request.Argument;
import io.thalamus.hal.Request.Location;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.Shape;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * A request as the packet of a burst says it, in version 1. Immutable.
 *
 * @param inputs the elements of each input: the operand, then its dimensions
 * @param outputs the same of each output
 * @param slots one for each pool
 * @param isTimed whether timing is asked for
 */
record RequestPacket(
    List<List<Datum>> inputs, List<List<Datum>> outputs, List<Integer> slots, boolean isTimed) {
  /** Returns the packet of a request whose arguments all stand in pools. */
  static List<Datum> of(Request request, List<Integer> slots, boolean isTimed) {
    List<Datum> packet = new ArrayList<>();
    request.inputs().forEach(input -> add(packet, input, Datum.INPUT));
    request.outputs().forEach(output -> add(packet, output, Datum.OUTPUT));
    slots.forEach(slot -> packet.add(Datum.of(Datum.POOL, slot)));
    packet.add(Datum.of(Datum.TIMING, isTimed ? 1 : 0));
    packet.addFirst(
        Datum.of(
            Datum.PACKET,
            packet.size() + 1,
            request.inputs().size(),
            request.outputs().size(),
            slots.size()));
    return packet;
  }

  private static void add(List<Datum> packet, Argument argument, int tag) {
    if (!(argument instanceof Location place)) {
      packet.add(Datum.of(tag, 1, 0, 0, 0, 0));
      return;
    }
    Shape shape = place.shape();
    packet.add(
        Datum.of(tag, 0, place.pool(), (int) place.offset(), (int) place.length(), shape.rank()));
    for (int dimension : shape.toArray()) {
      packet.add(Datum.of(tag + 1, dimension)); // the tag of the operand's dimensions is the next
    }
  }

  /** Returns what a packet says; empty where it is malformed. */
  static Optional<RequestPacket> parse(List<Datum> packet) {
    Reader reader = new Reader(packet);
    Datum head = reader.next(Datum.PACKET);
    if (head == null || head.word(0) != packet.size()) {
      return Optional.empty();
    }
    List<List<Datum>> inputs = reader.operands(Datum.INPUT, head.word(1));
    List<List<Datum>> outputs = reader.operands(Datum.OUTPUT, head.word(2));
    List<Integer> slots = new ArrayList<>();
    for (int i = 0; reader.isGood && Integer.compareUnsigned(i, head.word(3)) < 0; i++) {
      Datum slot = reader.next(Datum.POOL);
      if (slot != null) {
        slots.add(slot.word(0));
      }
    }
    Datum timing = reader.next(Datum.TIMING);
    return reader.isGood && reader.at == packet.size()
        ? Optional.of(new RequestPacket(inputs, outputs, slots, timing.word(0) == 1))
        : Optional.empty();
  }

  /** Takes elements off a packet, until one is missing or of another kind. */
  private static final class Reader {
    private final List<Datum> packet;
    private int at;
    private boolean isGood = true;

    Reader(List<Datum> packet) {
      this.packet = packet;
    }

    Datum next(int tag) {
      isGood &= at < packet.size() && packet.get(at).tag() == tag;
      return isGood ? packet.get(at++) : null;
    }

    List<List<Datum>> operands(int tag, int count) {
      List<List<Datum>> operands = new ArrayList<>();
      for (int i = 0; isGood && Integer.compareUnsigned(i, count) < 0; i++) {
        List<Datum> operand = new ArrayList<>();
        Datum information = next(tag);
        operand.add(information);
        for (int axis = 0; isGood && Integer.compareUnsigned(axis, information.word(4)) < 0; ) {
          operand.add(next(tag + 1));
          axis++;
        }
        operands.add(operand);
      }
      return operands;
    }
  }

  /**
   * Returns the request for the synchronous path; empty where it cannot be said there, or names a
   * slot that holds nothing.
   */
  Optional<Request> request(Map<Integer, SharedMemory> memories) {
    List<MemoryPool> pools = new ArrayList<>();
    for (int slot : slots) {
      if (!memories.containsKey(slot)) {
        return Optional.empty();
      }
      pools.add(new MemoryPool.Shared(memories.get(slot)));
    }
    List<Argument> in = arguments(inputs);
    List<Argument> out = arguments(outputs);
    return in == null || out == null ? Optional.empty() : Optional.of(new Request(in, out, pools));
  }

  /** Null where an operand cannot be said in a request. */
  private static List<Argument> arguments(List<List<Datum>> operands) {
    List<Argument> arguments = new ArrayList<>();
    for (List<Datum> operand : operands) {
      Datum information = operand.getFirst();
      int[] dimensions = operand.stream().skip(1).mapToInt(datum -> datum.word(0)).toArray();
      for (int dimension : dimensions) {
        if (dimension < 0) {
          return null;
        }
      }
      boolean isPlaced =
          dimensions.length > 0 || information.words().stream().skip(1).anyMatch(word -> word != 0);
      if (information.word(0) == 0) {
        arguments.add(
            new Location(
                information.word(1),
                Integer.toUnsignedLong(information.word(2)),
                Integer.toUnsignedLong(information.word(3)),
                Shape.of(dimensions)));
      } else if (isPlaced) {
        return null;
      } else {
        arguments.add(Argument.NO_VALUE);
      }
    }
    return arguments;
  }
}
