// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.certify;

import io.thalamus.hal.Device;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PreparedModel;
import io.thalamus.hal.Request;
import io.thalamus.model.Model;
import io.thalamus.tck.check.Check;
import io.thalamus.tck.check.Expect;
import io.thalamus.tck.check.Leaks;
import io.thalamus.tck.check.Probes;
import io.thalamus.tck.check.TestRequest;
import io.thalamus.vectors.Example;
import java.io.IOException;
import java.lang.ref.WeakReference;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
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
    findings.prepared(
        "threads of executions",
        example,
        (prepared, decoded) -> Leaks.threads(CALLS, () -> Probes.outputs(prepared, decoded)));
    findings.run(
        "threads of prepared models",
        () -> Leaks.threads(CALLS, () -> Probes.outputs(device, example)));
    if (subject.settings().activation.isPresent()) {
      Callable<Device> activation = subject.settings().activation.get();
      findings.run(
          "threads of activations",
          () -> Leaks.threads(ACTIVATIONS, () -> activate(activation, example)));
    }
    findings.run("closed models are let go", () -> letGo(device, example));
    memory(device, findings);
  }

  private static void activate(Callable<Device> activation, Example example) throws Exception {
    Device device = activation.call();
    try {
      Probes.outputs(device, example);
    } finally {
      if (device instanceof AutoCloseable closeable) {
        closeable.close();
      }
    }
  }

  /** A model that was closed is not held, not even by a thread that executed it. */
  private static void letGo(Device device, Example example) throws Exception {
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
        Expect.that(model.get() == null, "a model that was executed and closed is still reachable");
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
    // An operation on a tensor that is large, but not long.
    Optional<Model> large = Probes.chain(device, 1, LARGE);
    if (large.isEmpty() || !Files.isReadable(PROCESS_SIZE)) {
      findings.skip(
          "memory of calls",
          large.isEmpty()
              ? "the device takes neither RELU nor ADD of large tensors"
              : "this system does not tell the size of a process");
      return;
    }
    Model model = large.get();
    try (TestRequest arguments = TestRequest.of(model.main())) {
      Request request = arguments.request();
      findings.run(
          "memory of executions",
          () -> {
            try (PreparedModel prepared = device.prepare(model, PrepareConfig.DEFAULT)) {
              growth(() -> prepared.execute(request, ExecutionConfig.DEFAULT));
            }
          });
      findings.run(
          "memory of prepared models",
          () ->
              growth(
                  () -> {
                    try (PreparedModel prepared = device.prepare(model, PrepareConfig.DEFAULT)) {
                      prepared.execute(request, ExecutionConfig.DEFAULT);
                    }
                  }));
    }
  }

  /** A fault where the process grows by as much as the calls would leak of one argument each. */
  private static void growth(Check.Body call) throws Exception {
    long grown = 0;
    for (int time = 0; time < TIMES; time++) {
      for (int i = 0; i < CALLS / 4; i++) {
        call.run();
      }
      long before = processBytes();
      for (int i = 0; i < CALLS; i++) {
        call.run();
      }
      grown = processBytes() - before;
      if (grown < CALLS * ARGUMENT_BYTES / 2) {
        return;
      }
    }
    throw Expect.failure(
        "the process grew by " + grown / (1 << 20) + " MiB in " + CALLS + " calls, each time");
  }

  private static long processBytes() throws IOException {
    String text = Files.readString(PROCESS_SIZE);
    return PAGE_BYTES * Long.parseLong(text.substring(0, text.indexOf(' ')));
  }
}
