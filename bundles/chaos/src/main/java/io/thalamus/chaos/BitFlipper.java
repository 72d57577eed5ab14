// SPDX-License-Identifier: Apache-2.0
package io.thalamus.chaos;

import io.thalamus.hal.MemoryPool;
import io.thalamus.hal.Request;
import io.thalamus.hal.Request.Argument;
import io.thalamus.hal.Request.Location;
import io.thalamus.hal.Request.Pointer;
import io.thalamus.memory.Leases;
import io.thalamus.memory.SharedMemory;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * Flips bits of the outputs of one execution. Used by one thread at a time; keeps the outputs
 * mapped until it is closed. Outputs in buffers of the device itself are out of its reach.
 */
final class BitFlipper implements AutoCloseable {
  private final List<FaultDecision.Flip> flips;
  private final Leases leases = new Leases();
  private final List<MemorySegment> outputs = new ArrayList<>();

  private BitFlipper(List<FaultDecision.Flip> flips) {
    this.flips = flips;
  }

  /** Maps the outputs. An invalid request has none here: the device will refuse it. */
  static BitFlipper hold(Request request, List<FaultDecision.Flip> flips) {
    BitFlipper flipper = new BitFlipper(flips);
    if (flips.isEmpty()) {
      return flipper;
    }
    for (Argument output : request.outputs()) {
      if (output instanceof Pointer pointer && !pointer.segment().isReadOnly()) {
        flipper.outputs.add(pointer.segment());
      } else if (output instanceof Location place
          && place.pool() >= 0
          && place.pool() < request.pools().size()
          && request.pools().get(place.pool()) instanceof MemoryPool.Shared shared) {
        flipper.hold(shared.memory(), place);
      }
    }
    return flipper;
  }

  private void hold(SharedMemory memory, Location place) {
    boolean inside =
        place.offset() >= 0
            && place.length() > 0
            && place.offset() <= memory.size() - place.length();
    if (!inside || memory.isReadOnly()) {
      return;
    }
    try {
      leases.add(memory);
      outputs.add(memory.segment().asSlice(place.offset(), place.length()));
    } catch (IllegalStateException e) {
      // closed under the execution: it will not be read, so there is nothing to flip
    }
  }

  /** Flips the bits, and returns whether there were any. */
  boolean flip() {
    long bits = outputs.stream().mapToLong(MemorySegment::byteSize).sum() * Byte.SIZE;
    if (flips.isEmpty() || bits == 0) {
      return false;
    }
    for (FaultDecision.Flip flip : flips) {
      Set<Long> places = new HashSet<>();
      while (places.size() < Math.min(flip.bits(), bits)) {
        long place = flip.places().nextLong(bits);
        if (places.add(place)) {
          flip(place);
        }
      }
    }
    return true;
  }

  private void flip(long bit) {
    long left = bit / Byte.SIZE;
    for (MemorySegment output : outputs) {
      if (left < output.byteSize()) {
        byte old = output.get(ValueLayout.JAVA_BYTE, left);
        output.set(ValueLayout.JAVA_BYTE, left, (byte) (old ^ 1 << bit % Byte.SIZE));
        return;
      }
      left -= output.byteSize();
    }
  }

  @Override
  public void close() {
    leases.close();
  }
}
