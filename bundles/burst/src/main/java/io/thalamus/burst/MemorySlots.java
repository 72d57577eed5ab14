// SPDX-License-Identifier: Apache-2.0
package io.thalamus.burst;

import io.thalamus.hal.BurstContext;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.MemoryPool;
import io.thalamus.hal.Request;
import io.thalamus.memory.SharedMemory;
import java.lang.System.Logger.Level;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;

/**
 * The memories that a client uses, each under a small number that names it in packets. Thread-safe.
 * A memory stays mapped until it is freed, at the latest when its owner closes it, or the burst
 * ends; one that a request under way uses, until its result is received.
 */
final class MemorySlots implements SharedMemory.CloseListener {
  /** A memory with its number. Guarded by the slots. */
  static final class Slot {
    private final int number;
    private SharedMemory.Lease lease;

    /** Null while the slot is free. */
    private SharedMemory memory;

    /** Requests under way that use it. */
    private int uses;

    /** True if it is to be freed when nothing uses it. May be read by all. */
    private volatile boolean isLeaving;

    private Slot(int number) {
      this.number = number;
    }

    int number() {
      return number;
    }

    boolean isLeaving() {
      return isLeaving;
    }
  }

  private final Runnable onLeaving;

  private final Map<SharedMemory, Slot> slots = new IdentityHashMap<>();
  private final List<Slot> byNumber = new ArrayList<>();
  private final Deque<Slot> free = new ArrayDeque<>();

  /** Null until the server is there, and after the end. */
  private volatile BurstContext context;

  private boolean isClosed;

  /** The number of slots that are to be freed and in use. Written by holders of the monitor. */
  private volatile int leaving;

  /**
   * Slots that are all free.
   *
   * @param onLeaving called when a memory is to be freed that is in use, in the thread that frees
   *     it; must not block
   */
  MemorySlots(Runnable onLeaving) {
    this.onLeaving = onLeaving;
  }

  /** Returns whether a memory in use is to be freed when its use ends. */
  boolean areLeaving() {
    return leaving > 0;
  }

  void open(BurstContext server) {
    context = server;
  }

  /**
   * Begins to use the memories of a request.
   *
   * @param known the slots of an earlier request with as many pools, null for buffers of devices;
   *     those that still fit are taken as they are, and the others replaced
   * @return false where a memory is closed, or the burst; then nothing is used
   */
  boolean use(Request request, Slot[] known) {
    int used = useFirst(request, known);
    if (used < known.length) {
      release(known, used);
      return false;
    }
    return true;
  }

  /** Returns how many of the memories are used: fewer than all where one cannot be. */
  private synchronized int useFirst(Request request, Slot[] known) {
    for (int i = 0; i < known.length; i++) {
      if (!(request.pools().get(i) instanceof MemoryPool.Shared shared)) {
        known[i] = null;
      } else if (!use(known, i, shared.memory())) {
        return i;
      }
    }
    return known.length;
  }

  private boolean use(Slot[] known, int index, SharedMemory memory) {
    Slot slot = known[index];
    if (slot == null || slot.memory != memory || slot.isLeaving) {
      slot = slots.get(memory);
      slot = slot == null ? add(memory) : slot;
    }
    known[index] = slot;
    if (slot == null) {
      return false;
    }
    slot.uses++;
    return true;
  }

  private Slot add(SharedMemory memory) {
    SharedMemory.Lease lease;
    try {
      lease = isClosed ? null : memory.lend();
    } catch (IllegalStateException e) {
      // Whoever executes the request synchronously says so.
      return null;
    }
    if (lease == null) {
      return null;
    }
    Slot slot = free.poll();
    if (slot == null) {
      slot = new Slot(byNumber.size());
      byNumber.add(slot);
    }
    slot.memory = memory;
    slot.lease = lease;
    if (memory.addCloseListener(this)) {
      slots.put(memory, slot);
    } else {
      // Closed already, and mapped only as long as others use it.
      slot.isLeaving = true;
      leaving++;
    }
    return slot;
  }

  /** Ends the uses that one request began. */
  void release(Slot[] used) {
    release(used, used.length);
  }

  private void release(Slot[] used, int count) {
    List<Slot> unused = endUses(used, count);
    for (int i = 0; i < unused.size(); i++) {
      vacate(unused.get(i));
    }
  }

  private synchronized List<Slot> endUses(Slot[] used, int count) {
    List<Slot> unused = List.of();
    for (int i = 0; i < count; i++) {
      Slot slot = used[i];
      if (slot != null && --slot.uses == 0 && slot.isLeaving) {
        leaving--;
        unused = unused.isEmpty() ? new ArrayList<>() : unused;
        unused.add(slot);
      }
    }
    return unused;
  }

  /**
   * Returns the memories in these slots.
   *
   * @throws DeviceException with INVALID_ARGUMENT where a slot holds none
   */
  synchronized List<SharedMemory> getMemories(int[] numbers) throws DeviceException {
    List<SharedMemory> found = new ArrayList<>(numbers.length);
    for (int number : numbers) {
      SharedMemory memory =
          number >= 0 && number < byNumber.size() ? byNumber.get(number).memory : null;
      if (memory == null) {
        throw DeviceException.invalid("slot " + number + " of the burst holds no memory");
      }
      found.add(memory);
    }
    return found;
  }

  /** Lets go of a memory that its owner closes. */
  @Override
  public void closed(SharedMemory memory) {
    free(memory);
  }

  /** Lets go of a memory, as soon as no request uses it; an unknown one is ignored. */
  void free(SharedMemory memory) {
    Slot slot;
    boolean isUsed;
    synchronized (this) {
      slot = slots.remove(memory);
      if (slot == null) {
        return;
      }
      slot.isLeaving = true;
      isUsed = slot.uses > 0;
      if (isUsed) {
        leaving++;
      }
    }
    if (isUsed) {
      onLeaving.run();
    } else {
      vacate(slot);
    }
  }

  /** Has the server let go of a memory that nothing uses, and gives the number to the next one. */
  private void vacate(Slot slot) {
    BurstContext server = context;
    if (server != null) {
      try {
        server.freeMemory(slot.number);
      } catch (RuntimeException e) {
        BurstServer.log().log(
            Level.WARNING, "the server of a burst failed to let go of a memory", e);
      }
    }
    slot.memory.removeCloseListener(this);
    slot.lease.close();
    synchronized (this) {
      slot.memory = null;
      slot.isLeaving = false;
      free.push(slot);
    }
  }

  /** Lets go of all memories. The server is gone, and nobody waits for a request. */
  void close() {
    List<Slot> held;
    synchronized (this) {
      isClosed = true;
      context = null;
      held = new ArrayList<>(slots.values());
      slots.clear();
      // Freed while a request used them whose result was never received.
      byNumber.stream().filter(slot -> slot.isLeaving && slot.uses > 0).forEach(held::add);
    }
    held.forEach(this::vacate);
  }
}
