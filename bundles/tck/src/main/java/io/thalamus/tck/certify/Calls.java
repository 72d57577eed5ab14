// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.certify;

import io.thalamus.hal.BufferDesc;
import io.thalamus.hal.Device;
import io.thalamus.hal.DeviceInfo;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionControl;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PreparedModel;
import io.thalamus.model.Deadline;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.Shape;
import io.thalamus.tck.control.StopSuite;
import io.thalamus.tck.request.LentRequest;
import io.thalamus.vectors.DecodedExample;
import io.thalamus.vectors.Example;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/** How a device behaves from call to call: many at once, stopped ones, closed models. */
final class Calls {
  private static final int THREADS = 4;
  private static final int ROUNDS = 25;
  private static final int EXAMPLES = 8;
  private static final int PREPARED = 100;

  private Calls() {}

  /** Some examples, spread over all. */
  static List<Example> some(Subject subject) {
    List<Example> all = subject.singles();
    int step = Math.max(1, all.size() / EXAMPLES);
    List<Example> some = new ArrayList<>();
    for (int i = 0; i < all.size(); i += step) {
      some.add(all.get(i));
    }
    return some;
  }

  /** Many executions of a prepared model at once give what one alone gives. */
  static void concurrency(Subject subject, Findings findings) throws InterruptedException {
    for (Example example : some(subject)) {
      findings.attempt(
          example.name(),
          () ->
              Runs.with(
                  subject.device(), example, (prepared, decoded) -> together(prepared, decoded)));
    }
  }

  private static Optional<String> together(PreparedModel prepared, DecodedExample decoded)
      throws InterruptedException, ExecutionException {
    byte[] expected = Runs.outputs(prepared, decoded);
    return together(expected, () -> Runs.outputs(prepared, decoded));
  }

  /** A fault unless all of many executions at once give what is expected. */
  static Optional<String> together(byte[] expected, Callable<byte[]> execution)
      throws InterruptedException, ExecutionException {
    List<Future<Boolean>> running = new ArrayList<>();
    try (ExecutorService executor =
        Executors.newFixedThreadPool(
            THREADS, Thread.ofPlatform().name("certify-", 1).daemon().factory())) {
      for (int i = 0; i < THREADS * ROUNDS; i++) {
        running.add(executor.submit(() -> Arrays.equals(expected, execution.call())));
      }
    }
    for (Future<Boolean> one : running) {
      if (!one.get()) {
        return Optional.of("results differ between executions at the same time");
      }
    }
    return Optional.empty();
  }

  /** Deadlines and cancellation. */
  static void control(Subject subject, Findings findings) throws InterruptedException {
    if (!subject.singles().isEmpty()) {
      Example example = subject.singles().getFirst();
      findings.attempt("prepare after its deadline", () -> latePrepare(subject.device(), example));
      findings.attempt(
          "execute after its deadline",
          () -> late(subject.device(), example, Deadline.after(Duration.ofSeconds(-1))));
      findings.attempt("execute before its deadline", () -> inTime(subject.device(), example));
      findings.attempt("cancel at the first checkpoint", () -> cancel(subject.device(), example));
    }
    List<StopSuite.Finding> stopped = new StopSuite(subject.device()).run();
    if (stopped.isEmpty()) {
      findings.skip("long operations", "the device takes none of the kit's long operations");
    }
    for (StopSuite.Finding finding : stopped) {
      String name = "long " + finding.operation() + " " + finding.signal();
      if (finding.isUnstopped()) {
        // Legal: such a device is watched from outside.
        findings.skip(name, "the device passes no checkpoint inside a long operation");
      } else {
        findings.add(name, finding.fault());
      }
    }
  }

  private static Optional<String> latePrepare(Device device, Example example) throws Exception {
    try (DecodedExample decoded = example.decode()) {
      PrepareConfig config = PrepareConfig.DEFAULT.with(Deadline.after(Duration.ofSeconds(-1)));
      return Runs.refused(
          () -> device.prepare(decoded.model(), config).close(),
          ErrorStatus.MISSED_DEADLINE_TRANSIENT,
          ErrorStatus.MISSED_DEADLINE_PERSISTENT);
    }
  }

  private static ExecutionResult execute(Device device, Example example, ExecutionConfig config)
      throws Exception {
    try (DecodedExample decoded = example.decode();
        PreparedModel prepared = device.prepare(decoded.model(), PrepareConfig.DEFAULT);
        LentRequest request = LentRequest.of(decoded)) {
      return prepared.execute(request.request(), config);
    }
  }

  private static Optional<String> late(Device device, Example example, Deadline deadline)
      throws Exception {
    return Runs.failed(
        execute(device, example, ExecutionConfig.DEFAULT.with(deadline)),
        ErrorStatus.MISSED_DEADLINE_TRANSIENT,
        ErrorStatus.MISSED_DEADLINE_PERSISTENT);
  }

  private static Optional<String> inTime(Device device, Example example) throws Exception {
    ExecutionResult result =
        execute(
            device,
            example,
            ExecutionConfig.DEFAULT
                .with(Deadline.after(Duration.ofHours(1)))
                .withMeasureTiming(true));
    return result instanceof ExecutionResult.Completed
        ? Optional.empty()
        : Optional.of("it ended with " + result);
  }

  /** A device that asks nobody may run to its end: that is legal. */
  private static Optional<String> cancel(Device device, Example example) throws Exception {
    boolean[] asked = new boolean[1];
    ExecutionControl control =
        () -> {
          asked[0] = true;
          return ExecutionControl.Signal.CANCELLED;
        };
    ExecutionResult result = execute(device, example, ExecutionConfig.DEFAULT.with(control));
    return asked[0] ? Runs.failed(result, ErrorStatus.GENERAL_FAILURE) : Optional.empty();
  }

  /** From preparing to closing, and what is not claimed is refused. */
  static void lifeCycle(Subject subject, Findings findings) throws InterruptedException {
    Device device = subject.device();
    DeviceInfo info = device.info();
    if (!subject.singles().isEmpty()) {
      Example example = subject.singles().getFirst();
      findings.attempt("closed twice", () -> closedTwice(device, example));
      findings.attempt("executed after its closing", () -> closed(device, example));
      findings.attempt("one closed, its like not", () -> twins(device, example));
      findings.attempt("prepared many times", () -> many(device, example));
      findings.attempt("the same again", () -> again(device, example));
    }
    if (!info.memoryDomain()) {
      findings.attempt(
          "memory of its own is refused",
          () ->
              Runs.refused(
                  () -> device.allocate(new BufferDesc(Shape.NONE), List.of()).close(),
                  ErrorStatus.GENERAL_FAILURE,
                  ErrorStatus.INVALID_ARGUMENT));
    }
    if (!info.cacheNeeds().isCachingSupported()) {
      findings.attempt(
          "restoring from a cache is refused",
          () ->
              Runs.refused(
                  () -> device.prepareFromCache(PrepareConfig.DEFAULT).close(),
                  ErrorStatus.GENERAL_FAILURE));
    }
  }

  private static Optional<String> closedTwice(Device device, Example example) throws Exception {
    return Runs.with(
        device,
        example,
        (prepared, decoded) -> {
          prepared.close(); // the second time is the caller's
          return Optional.empty();
        });
  }

  private static Optional<String> closed(Device device, Example example) throws Exception {
    return Runs.with(
        device,
        example,
        (prepared, decoded) -> {
          prepared.close();
          try (LentRequest request = LentRequest.of(decoded)) {
            return Runs.failed(
                prepared.execute(request.request(), ExecutionConfig.DEFAULT),
                ErrorStatus.GENERAL_FAILURE);
          }
        });
  }

  private static Optional<String> twins(Device device, Example example) throws Exception {
    return Runs.with(
        device,
        example,
        (prepared, decoded) -> {
          byte[] expected = Runs.outputs(prepared, decoded);
          PreparedModel other = device.prepare(decoded.model(), PrepareConfig.DEFAULT);
          other.close();
          return same(expected, Runs.outputs(prepared, decoded));
        });
  }

  private static Optional<String> many(Device device, Example example) throws Exception {
    byte[] expected = Runs.outputs(device, example);
    for (int i = 0; i < PREPARED; i++) {
      Optional<String> fault = same(expected, Runs.outputs(device, example));
      if (fault.isPresent()) {
        return fault;
      }
    }
    return Optional.empty();
  }

  private static Optional<String> again(Device device, Example example) throws Exception {
    return Runs.with(
        device,
        example,
        (prepared, decoded) ->
            same(Runs.outputs(prepared, decoded), Runs.outputs(prepared, decoded)));
  }

  private static Optional<String> same(byte[] expected, byte[] actual) {
    return Arrays.equals(expected, actual)
        ? Optional.empty()
        : Optional.of("the same request gave another result");
  }
}
