// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.certify;

import io.thalamus.hal.Device;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.MemoryPool;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PreparedModel;
import io.thalamus.hal.Request;
import io.thalamus.memory.MemoryKind;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.Model;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.model.SubgraphBuilder;
import io.thalamus.vectors.Example;
import java.io.IOException;
import java.lang.ref.WeakReference;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;

/**
 * Leaks of calls: threads, memory outside the heap, and models that were closed. Others work in the
 * same process, so that a fault is one only if it shows each of several times.
 */
final class LeakChecks {
  private static final int CALLS = 40;
  private static final int ACTIVATIONS = 8;
  private static final int TIMES = 4;
  private static final int LARGE = 1 << 19;
  private static final long ARGUMENT_BYTES = 4L * LARGE;
  private static final int COLLECTIONS = 20;
  private static final int COLLECTION_MILLIS = 20;

  /** Linux alone has it; its first number is the size of the process in pages. */
  private static final Path PROCESS_SIZE = Path.of("/proc/self/statm");

  private static final long PAGE_BYTES = 4096;

  private LeakChecks() {}

  static void run(Subject subject, Findings findings) throws InterruptedException {
    Device device = subject.device();
    if (subject.singles().isEmpty()) {
      return;
    }
    Example example = subject.singles().getFirst();
    findings.attempt(
        "threads of executions",
        () ->
            Probes.with(
                device,
                example,
                (prepared, decoded) -> threads(CALLS, () -> Probes.outputs(prepared, decoded))));
    findings.attempt(
        "threads of prepared models", () -> threads(CALLS, () -> Probes.outputs(device, example)));
    if (subject.settings().activation().isPresent()) {
      findings.attempt(
          "threads of activations",
          () ->
              threads(ACTIVATIONS, () -> activate(subject.settings().activation().get(), example)));
    }
    findings.attempt("closed models are let go", () -> letGo(device, example));
    memory(device, findings);
  }

  private static byte[] activate(Callable<Device> activation, Example example) throws Exception {
    Device device = activation.call();
    try {
      return Probes.outputs(device, example);
    } finally {
      if (device instanceof AutoCloseable closeable) {
        closeable.close();
      }
    }
  }

  /** A fault where half as many threads, or more, stay as calls were made. */
  private static Optional<String> threads(int calls, Callable<?> call) throws Exception {
    int left = 0;
    for (int time = 0; time < TIMES; time++) {
      call.call(); // threads that stay on purpose start with the first one
      Set<Thread> before = new HashSet<>(Thread.getAllStackTraces().keySet());
      for (int i = 0; i < calls; i++) {
        call.call();
      }
      left = 0;
      for (int wait = 0; wait == 0 || wait < COLLECTIONS && left >= calls / 2; wait++) {
        Thread.sleep(wait == 0 ? 0 : COLLECTION_MILLIS);
        Set<Thread> after = new HashSet<>(Thread.getAllStackTraces().keySet());
        after.removeAll(before);
        left = after.size();
      }
      if (left < calls / 2) {
        return Optional.empty();
      }
    }
    return Optional.of(left + " threads are left of " + calls + " calls");
  }

  /** A model that was closed is not held, not even by a thread that executed it. */
  private static Optional<String> letGo(Device device, Example example) throws Exception {
    CountDownLatch end = new CountDownLatch(1);
    try (ExecutorService executor =
        Executors.newSingleThreadExecutor(
            Thread.ofPlatform().name("certify-caller").daemon().factory())) {
      try {
        WeakReference<PreparedModel> model = executor.submit(() -> closed(device, example)).get();
        executor.submit(() -> end.await(1, TimeUnit.HOURS));
        for (int i = 0; i < COLLECTIONS && model.get() != null; i++) {
          System.gc();
          Thread.sleep(COLLECTION_MILLIS);
        }
        return model.get() == null
            ? Optional.empty()
            : Optional.of("a model that was executed and closed is still reachable");
      } finally {
        end.countDown();
      }
    }
  }

  private static WeakReference<PreparedModel> closed(Device device, Example example)
      throws Exception {
    try (var decoded = example.decode();
        PreparedModel prepared = device.prepare(decoded.model(), PrepareConfig.DEFAULT)) {
      Probes.outputs(prepared, decoded);
      return new WeakReference<>(prepared);
    }
  }

  /** Memory of executions and of prepared models, by an operation with large arguments. */
  private static void memory(Device device, Findings findings) throws InterruptedException {
    Optional<Model> large = large(device);
    if (large.isEmpty() || !Files.isReadable(PROCESS_SIZE)) {
      findings.skip(
          "memory of calls",
          large.isEmpty()
              ? "the device takes neither RELU nor ADD of large tensors"
              : "this system does not tell the size of a process");
      return;
    }
    try (SharedMemory arguments = SharedMemory.allocate(MemoryKind.ASHMEM, 2 * ARGUMENT_BYTES)) {
      Request request =
          new Request(
              List.of(new Request.Location(0, 0, ARGUMENT_BYTES, Shape.NONE)),
              List.of(new Request.Location(0, ARGUMENT_BYTES, ARGUMENT_BYTES, Shape.NONE)),
              List.of(new MemoryPool.Shared(arguments)));
      findings.attempt(
          "memory of executions",
          () -> {
            try (PreparedModel prepared = device.prepare(large.get(), PrepareConfig.DEFAULT)) {
              return growth(() -> prepared.execute(request, ExecutionConfig.DEFAULT));
            }
          });
      findings.attempt(
          "memory of prepared models",
          () ->
              growth(
                  () -> {
                    try (PreparedModel prepared =
                        device.prepare(large.get(), PrepareConfig.DEFAULT)) {
                      return prepared.execute(request, ExecutionConfig.DEFAULT);
                    }
                  }));
    }
  }

  /** A fault where the process grows by as much as the calls would leak of one argument each. */
  private static Optional<String> growth(Callable<?> call) throws Exception {
    long grown = 0;
    for (int time = 0; time < TIMES; time++) {
      for (int i = 0; i < CALLS / 4; i++) {
        call.call();
      }
      long before = processBytes();
      for (int i = 0; i < CALLS; i++) {
        call.call();
      }
      grown = processBytes() - before;
      if (grown < CALLS * ARGUMENT_BYTES / 2) {
        return Optional.empty();
      }
    }
    return Optional.of(
        "the process grew by " + grown / (1 << 20) + " MiB in " + CALLS + " calls, each time");
  }

  private static long processBytes() throws IOException {
    String text = Files.readString(PROCESS_SIZE);
    return PAGE_BYTES * Long.parseLong(text.substring(0, text.indexOf(' ')));
  }

  /** An operation on a tensor that is large, but not long. */
  private static Optional<Model> large(Device device) {
    for (OperationCode operation : List.of(OperationCode.RELU, OperationCode.ADD)) {
      SubgraphBuilder graph = new SubgraphBuilder();
      Shape shape = Shape.of(LARGE);
      int input = graph.input("", OperandCode.TENSOR_FLOAT32, shape, Quantization.NONE);
      int output = graph.output("", OperandCode.TENSOR_FLOAT32, shape, Quantization.NONE);
      graph.operation(
          operation,
          operation == OperationCode.RELU ? List.of(input) : List.of(input, input, graph.int32(0)),
          List.of(output));
      Model model = Model.of(graph.build());
      try {
        if (device.supportedOperations(model).get(0)) {
          return Optional.of(model);
        }
      } catch (DeviceException | RuntimeException | Error e) {
        return Optional.of(model); // found by the check itself
      }
    }
    return Optional.empty();
  }
}
