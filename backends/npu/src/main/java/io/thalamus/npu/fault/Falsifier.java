// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu.fault;

import io.thalamus.hal.MemoryPool;
import io.thalamus.hal.Request;
import io.thalamus.hal.Request.Argument;
import io.thalamus.hal.Request.Location;
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
final class Falsifier implements AutoCloseable {
  private final List<Strike.Flip> flips;
  private final Leases leases = new Leases();
  private final List<MemorySegment> outputs = new ArrayList<>();

  private Falsifier(List<Strike.Flip> flips) {
    this.flips = flips;
  }

  /** An invalid request has nothing to falsify: the device will refuse it. */
  static Falsifier hold(Request request, List<Strike.Flip> flips) {
    Falsifier falsifier = new Falsifier(flips);
    for (Argument output : request.outputs()) {
      if (output instanceof Location place
          && place.pool() >= 0
          && place.pool() < request.pools().size()
          && request.pools().get(place.pool()) instanceof MemoryPool.Shared shared) {
        falsifier.hold(shared.memory(), place);
      }
    }
    return falsifier;
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
      // closed under the execution: nobody will read it, so there is nothing to falsify
    }
  }

  /** Whether a bit was flipped. */
  boolean flip() {
    long bits = outputs.stream().mapToLong(MemorySegment::byteSize).sum() * Byte.SIZE;
    if (bits == 0) {
      return false;
    }
    for (Strike.Flip flip : flips) {
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
