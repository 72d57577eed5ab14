// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.domain;

import io.thalamus.api.Memory;
import io.thalamus.api.MemoryDesc.Direction;
import io.thalamus.api.MemoryInfo;
import io.thalamus.api.NeuralNetworksException;
import io.thalamus.api.ResultCode;
import io.thalamus.hal.ExecutionControl.Signal;
import io.thalamus.memory.ReferenceCount;
import io.thalamus.model.NanoClock;
import io.thalamus.model.Operand;
import io.thalamus.model.Shape;
import io.thalamus.runtime.schedule.Contender;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;

/** A memory of an application, with the lock that executions and copies take. */
public final class DomainMemory implements Memory {
  private final long number;
  private final String owner;
  private final long created;
  private final RoleSet roleSet;
  private final MemoryState state;
  private final StateFiles files;
  private final MemoryLock lock = new MemoryLock();

  /** The executions that use it. */
  private final Set<Contender> users = ConcurrentHashMap.newKeySet();

  private final Consumer<DomainMemory> onClose;
  private final ReferenceCount uses;
  private final Duration patience;
  private final NanoClock clock;

  /**
   * Creates a memory that has room.
   *
   * @param number the place in the order in which several are locked
   * @param owner the application
   * @param patience how long a copy waits if no use ends, by the clock
   */
  DomainMemory(
      long number,
      String owner,
      RoleSet roleSet,
      MemoryState state,
      StateFiles files,
      Duration patience,
      NanoClock clock,
      Consumer<DomainMemory> onClose) {
    this.number = number;
    this.owner = owner;
    this.created = clock.nanoTime();
    this.patience = patience;
    this.clock = clock;
    this.roleSet = roleSet;
    this.state = state;
    this.files = files;
    this.onClose = onClose;
    this.uses = new ReferenceCount(state::free);
  }

  long number() {
    return number;
  }

  MemoryState state() {
    return state;
  }

  @Override
  public String name() {
    return roleSet.name();
  }

  /** Returns whether the memory was made for this use. */
  public boolean hasRole(RoleHost host, Direction direction, int index) {
    return roleSet.hasRole(host, direction, index);
  }

  /** Returns what the roles have in common, with dimensions as far as they are known. */
  public Operand operand() {
    return roleSet.operand();
  }

  /**
   * Begins a use.
   *
   * @param mayWait asked now and then while other uses must end first
   * @return whether the use has begun
   * @throws NeuralNetworksException with BAD_DATA if it is closed
   */
  boolean lock(boolean isWriting, BooleanSupplier mayWait) throws NeuralNetworksException {
    if (!uses.retain()) {
      throw NeuralNetworksException.badData("memory '%s' is closed".formatted(name()));
    }
    if (lock.begin(isWriting, mayWait)) {
      return true;
    }
    uses.release();
    return false;
  }

  /**
   * Begins to copy. Waits for other uses as long as one of them ends now and then.
   *
   * @throws NeuralNetworksException with MISSED_DEADLINE_TRANSIENT if an execution that hangs keeps
   *     the memory
   */
  private void lockToCopy(boolean isWriting) throws NeuralNetworksException {
    if (!lock(isWriting, new Patience())) {
      throw new NeuralNetworksException(
          ResultCode.MISSED_DEADLINE_TRANSIENT,
          "memory '%s' is in use by an execution that has not ended for %,d ms: cancel it, or copy later"
              .formatted(name(), patience.toMillis()));
    }
  }

  /** Lasts until no use has ended for a while. Used by one thread. */
  private final class Patience implements BooleanSupplier {
    private long ended = lock.ended();
    private long since = clock.nanoTime();

    @Override
    public boolean getAsBoolean() {
      long now = lock.ended();
      if (now != ended) {
        ended = now;
        since = clock.nanoTime();
      }
      return clock.nanoTime() - since < patience.toNanos();
    }
  }

  /**
   * Begins a use by an execution, whose rank those inherit that it has to wait for.
   *
   * @return whether the use has begun: if not, the execution must stop
   * @throws NeuralNetworksException with BAD_DATA if it is closed
   */
  boolean lock(boolean isWriting, Contender control) throws NeuralNetworksException {
    boolean hasBegun =
        lock(
            isWriting,
            () -> {
              users.forEach(user -> user.inherit(control));
              return control.status() == Signal.CONTINUE;
            });
    if (hasBegun) {
      users.add(control);
    }
    return hasBegun;
  }

  /** Ends a use by an execution. */
  void unlock(boolean isWriting, Contender control) {
    users.remove(control);
    unlock(isWriting);
  }

  /** Ends a use. */
  void unlock(boolean isWriting) {
    lock.end(isWriting);
    uses.release();
  }

  @Override
  public void copyFrom(MemorySegment source, Shape shape) throws NeuralNetworksException {
    lockToCopy(true);
    try {
      state.write(source, shape);
    } finally {
      unlock(true);
    }
  }

  @Override
  public void copyTo(MemorySegment destination) throws NeuralNetworksException {
    lockToCopy(false);
    try {
      state.read(destination);
    } finally {
      unlock(false);
    }
  }

  @Override
  public void copyFrom(Memory source) throws NeuralNetworksException {
    if (source == this) {
      return;
    }
    if (!(source instanceof DomainMemory other)) {
      throw NeuralNetworksException.badData(
          "memory '%s' is of another runtime".formatted(source.name()));
    }
    boolean isFirst = number < other.number;
    // In the order of their numbers, as executions lock them: nobody waits in a circle.
    (isFirst ? this : other).lockToCopy(isFirst);
    try {
      (isFirst ? other : this).lockToCopy(!isFirst);
      try {
        copyContents(other);
      } finally {
        (isFirst ? other : this).unlock(!isFirst);
      }
    } finally {
      (isFirst ? this : other).unlock(isFirst);
    }
  }

  private void copyContents(DomainMemory source) throws NeuralNetworksException {
    boolean isDone = false;
    try {
      Shape shape = source.state.offer();
      if (!roleSet.accepts(source.roleSet, shape)) {
        throw NeuralNetworksException.badData(
            "memory '%s' (%s %s) does not fit into memory '%s' (%s %s)"
                .formatted(
                    source.name(),
                    source.operand().type().text(),
                    shape,
                    name(),
                    operand().type().text(),
                    operand().shape()));
      }
      state.write(source.state.shared().segment(), shape);
      isDone = true;
    } finally {
      if (!isDone) {
        state.fail();
      }
    }
  }

  @Override
  public void save(Path file) throws NeuralNetworksException {
    lockToCopy(false);
    try {
      Shape shape = state.offer();
      files.write(file, name(), operand().with(shape), state.shared().segment());
    } finally {
      unlock(false);
    }
  }

  @Override
  public void restore(Path file) throws NeuralNetworksException {
    try (Arena arena = Arena.ofConfined()) {
      StateFiles.Contents contents = files.read(file, name(), operand(), arena);
      copyFrom(contents.bytes(), contents.shape());
    }
  }

  @Override
  public MemoryInfo describe() {
    return state.describe(owner, Duration.ofNanos(clock.nanoTime() - created));
  }

  @Override
  public void close() {
    if (uses.close()) {
      onClose.accept(this);
    }
  }
}
