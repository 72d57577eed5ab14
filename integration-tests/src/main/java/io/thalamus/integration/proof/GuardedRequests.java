// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration.proof;

import io.thalamus.api.Compilation;
import io.thalamus.api.CompilationOptions;
import io.thalamus.api.CompilationOptions.Fallback;
import io.thalamus.api.Execution;
import io.thalamus.api.ExecutionReport;
import io.thalamus.api.Memory;
import io.thalamus.api.MemoryDesc;
import io.thalamus.api.NeuralNetworks;
import io.thalamus.api.NeuralNetworksException;
import io.thalamus.memory.MemoryKind;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.Model;
import io.thalamus.model.Shape;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Requests of many threads, whose arguments are by chance on the heap, outside of it, in shared
 * memory or in memories of the devices, each but the last between bytes that nobody may change. All
 * bits are those of the CPU device. Thread-safe; owns its compilation.
 */
final class GuardedRequests implements AutoCloseable {
  private static final int ELEMENTS = StatefulRun.ELEMENTS;
  private static final int VALUES = 16;
  private static final int GUARD = 128;
  private static final int KINDS = 3;

  private final NeuralNetworks networks;
  private final Compilation compilation;
  private final long seed;
  private final byte[][] values = new byte[VALUES][ELEMENTS];

  /** By state and x, the outputs. */
  private final byte[][][][] expected = new byte[VALUES][VALUES][2][ELEMENTS];

  private final AtomicLong done = new AtomicLong();
  private final AtomicLong wrong = new AtomicLong();
  private final AtomicLong damaged = new AtomicLong();
  private final AtomicLong failed = new AtomicLong();

  GuardedRequests(NeuralNetworks networks, List<String> devices, long seed)
      throws NeuralNetworksException {
    this.networks = networks;
    this.seed = seed;
    Model model = StatefulRun.model();
    SplittableRandom random = new SplittableRandom(seed);
    for (byte[] value : values) {
      random.nextBytes(value);
    }
    try (Compilation oracle =
        networks.compile(
            model, CompilationOptions.DEFAULT.withDevices(List.of("cpu")).with(Fallback.DENY))) {
      for (int state = 0; state < VALUES; state++) {
        for (int x = 0; x < VALUES; x++) {
          oracle
              .createExecution()
              .setInput(0, MemorySegment.ofArray(values[state]))
              .setInput(1, MemorySegment.ofArray(values[x]))
              .setOutput(0, MemorySegment.ofArray(expected[state][x][0]))
              .setOutput(1, MemorySegment.ofArray(expected[state][x][1]))
              .compute()
              .orThrow();
        }
      }
    }
    compilation = networks.compile(model, CompilationOptions.DEFAULT.withDevices(devices));
  }

  /** Runs so many requests, and at least so long. */
  void run(int threads, long requests, long millis) throws Exception {
    long end = System.nanoTime() + millis * 1_000_000;
    long target = done.get() + requests;
    try (ExecutorService executor =
        Executors.newFixedThreadPool(
            threads, Thread.ofPlatform().name("guarded-requests-", 0).factory())) {
      List<Future<Void>> running = new ArrayList<>();
      for (int i = 0; i < threads; i++) {
        long ownSeed = seed + i + done.get();
        Callable<Void> work =
            () -> {
              try (Client client = new Client(ownSeed)) {
                while (done.get() < target || System.nanoTime() - end < 0) {
                  client.request();
                  done.incrementAndGet();
                }
              }
              return null;
            };
        running.add(executor.submit(work));
      }
      for (Future<Void> thread : running) {
        thread.get();
      }
    }
  }

  long done() {
    return done.get();
  }

  void tell(Figures figures) {
    figures.figure("guarded.requests", done);
    figures.figure("guarded.failed", failed);
    figures.figure("guarded.wrong", wrong);
    figures.figure("guarded.damaged", damaged);
    figures.promise("no guarded request failed", failed.get() == 0);
    figures.promise("all guarded bits are those of the CPU device", wrong.get() == 0);
    figures.promise("no byte beside a buffer was changed", damaged.get() == 0);
  }

  @Override
  public void close() {
    compilation.close();
  }

  /** What an argument stands in, by kind. Of one thread. */
  private static final class Guarded implements AutoCloseable {
    private final SharedMemory shared;
    private final List<MemorySegment> all;

    Guarded(Arena arena) {
      int size = GUARD + ELEMENTS + GUARD;
      shared = SharedMemory.allocate(MemoryKind.ASHMEM, size);
      all = List.of(MemorySegment.ofArray(new byte[size]), arena.allocate(size), shared.segment());
      for (MemorySegment one : all) {
        for (int i = 0; i < size; i++) {
          one.set(ValueLayout.JAVA_BYTE, i, guard(i));
        }
      }
    }

    private static byte guard(int index) {
      return (byte) (31 * index + 7);
    }

    MemorySegment inner(int kind) {
      return all.get(kind).asSlice(GUARD, ELEMENTS);
    }

    void write(int kind, byte[] value) {
      MemorySegment.copy(value, 0, all.get(kind), ValueLayout.JAVA_BYTE, GUARD, ELEMENTS);
    }

    boolean isWhole(int kind) {
      MemorySegment one = all.get(kind);
      for (int i = 0; i < GUARD; i++) {
        int behind = GUARD + ELEMENTS + i;
        if (one.get(ValueLayout.JAVA_BYTE, i) != guard(i)
            || one.get(ValueLayout.JAVA_BYTE, behind) != guard(behind)) {
          return false;
        }
      }
      return true;
    }

    @Override
    public void close() {
      shared.close();
    }
  }

  /** One thread's arguments: two inputs, two outputs. */
  private final class Client implements AutoCloseable {
    private final SplittableRandom random;
    private final Arena arena = Arena.ofConfined();
    private final Guarded[] arguments = new Guarded[4];
    private final Memory from;
    private final Memory to;
    private final byte[] noise = new byte[ELEMENTS];
    private final byte[] result = new byte[ELEMENTS];
    private int held;

    Client(long seed) throws NeuralNetworksException {
      random = new SplittableRandom(seed);
      for (int i = 0; i < arguments.length; i++) {
        arguments[i] = new Guarded(arena);
      }
      from = networks.createMemory(MemoryDesc.builder("from").input(compilation, 0).build());
      to = networks.createMemory(MemoryDesc.builder("to").output(compilation, 0).build());
      from.copyFrom(MemorySegment.ofArray(values[0]));
    }

    void request() throws NeuralNetworksException {
      int[] kinds = new int[arguments.length];
      for (int i = 0; i < kinds.length; i++) {
        kinds[i] = random.nextInt(i % 2 == 0 ? KINDS + 1 : KINDS);
      }
      int state = random.nextInt(VALUES);
      final int x = random.nextInt(VALUES);
      Execution execution = compilation.createExecution();
      if (kinds[0] == KINDS) {
        if (random.nextInt(VALUES) == 0) {
          from.copyFrom(MemorySegment.ofArray(values[state]));
          held = state;
        }
        state = held;
        execution.setInput(0, from);
      } else {
        setInput(execution, 0, kinds[0], values[state]);
      }
      setInput(execution, 1, kinds[1], values[x]);
      if (kinds[2] == KINDS) {
        execution.setOutput(0, to);
      } else {
        setOutput(execution, 0, kinds[2]);
      }
      setOutput(execution, 1, kinds[3]);
      ExecutionReport report = execution.compute();
      if (!report.isSuccess()) {
        failed.incrementAndGet();
        return;
      }
      if (kinds[0] != KINDS) {
        check(0, kinds[0], values[state]);
      }
      check(1, kinds[1], values[x]);
      if (kinds[2] == KINDS) {
        to.copyTo(MemorySegment.ofArray(result));
        compare(MemorySegment.ofArray(result), expected[state][x][0]);
      } else {
        check(2, kinds[2], expected[state][x][0]);
      }
      check(3, kinds[3], expected[state][x][1]);
    }

    private void setInput(Execution execution, int index, int kind, byte[] value) {
      Guarded argument = arguments[index];
      argument.write(kind, value);
      if (kind == KINDS - 1) {
        execution.setInput(index, argument.shared, GUARD, ELEMENTS, Shape.NONE);
      } else {
        execution.setInput(index, argument.inner(kind));
      }
    }

    private void setOutput(Execution execution, int index, int kind) {
      Guarded argument = arguments[2 + index];
      random.nextBytes(noise);
      argument.write(kind, noise);
      if (kind == KINDS - 1) {
        execution.setOutput(index, argument.shared, GUARD, ELEMENTS, Shape.NONE);
      } else {
        execution.setOutput(index, argument.inner(kind));
      }
    }

    private void check(int argument, int kind, byte[] value) {
      compare(arguments[argument].inner(kind), value);
      damaged.addAndGet(arguments[argument].isWhole(kind) ? 0 : 1);
    }

    private void compare(MemorySegment actual, byte[] value) {
      wrong.addAndGet(actual.mismatch(MemorySegment.ofArray(value)) == -1 ? 0 : 1);
    }

    @Override
    public void close() {
      from.close();
      to.close();
      for (Guarded argument : arguments) {
        argument.close();
      }
      arena.close();
    }
  }
}
