// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.certify;

import io.thalamus.hal.Device;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionControl;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PreparedModel;
import io.thalamus.hal.SyncFence;
import io.thalamus.model.ErrorStatus;
import io.thalamus.tck.check.Check;
import io.thalamus.tck.check.Expect;
import io.thalamus.tck.check.Parallel;
import io.thalamus.tck.check.Probes;
import io.thalamus.tck.check.TestRequest;
import io.thalamus.tck.control.StopSuite;
import io.thalamus.vectors.DecodedExample;
import io.thalamus.vectors.Example;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;

/** Cancellation, of all calls that take it; and fences. */
final class ControlChecks {
  /** The time that a fence is held back, for an execution to begin without it. */
  private static final Duration HELD = Duration.ofMillis(60);

  private static final int HELD_EXAMPLES = 3;

  private ControlChecks() {}

  static void run(Subject subject, Findings findings) throws InterruptedException {
    Device device = subject.device();
    List<Example> examples = subject.some();
    if (!examples.isEmpty()) {
      findings.run("cancel at the first checkpoint", () -> cancel(device, examples));
      each(
          findings,
          "a fence fails",
          examples,
          one -> Probes.prepared(device, one, ControlChecks::failedFence));
      List<Example> few = examples.subList(0, Math.min(HELD_EXAMPLES, examples.size()));
      each(
          findings,
          "a fence is waited for",
          few,
          one -> Probes.prepared(device, one, ControlChecks::waits));
    }
    List<Check> longOnes = new StopSuite(device).checks();
    if (longOnes.isEmpty()) {
      findings.skip("long operations", "the device takes none of the kit's long operations");
    }
    for (Check check : longOnes) {
      findings.run(check);
    }
  }

  /** A check of one example. */
  @FunctionalInterface
  private interface OfExample {
    void run(Example example) throws Exception;
  }

  private static void each(Findings findings, String name, List<Example> examples, OfExample check)
      throws InterruptedException {
    findings.run(
        name,
        () -> {
          for (Example example : examples) {
            Expect.at(example.name(), () -> check.run(example));
          }
        });
  }

  private static ExecutionResult execute(Device device, Example example, ExecutionConfig config)
      throws Exception {
    try (DecodedExample decoded = example.decode();
        PreparedModel prepared = device.prepare(decoded.model(), PrepareConfig.DEFAULT);
        TestRequest request = TestRequest.of(decoded)) {
      return prepared.execute(request.request(), config);
    }
  }

  /** Stops executions where they ask first; one without any work may not ask. */
  private static void cancel(Device device, List<Example> examples) throws Exception {
    AtomicInteger asked = new AtomicInteger();
    ExecutionControl control =
        () -> {
          asked.incrementAndGet();
          return ExecutionControl.Signal.CANCELLED;
        };
    for (Example example : examples) {
      int before = asked.get();
      ExecutionResult result = execute(device, example, ExecutionConfig.DEFAULT.with(control));
      if (asked.get() > before) {
        Expect.at(example.name(), () -> Expect.failed(result, ErrorStatus.GENERAL_FAILURE));
      }
    }
    Expect.that(asked.get() > 0, "it asks at no operation whether it is to stop");
  }

  /** The inputs of a fenced execution are there only when its fence signals. */
  private static void waits(PreparedModel prepared, DecodedExample decoded) throws Exception {
    byte[] expected = Probes.outputs(prepared, decoded);
    try (TestRequest request = TestRequest.of(decoded)) {
      byte[] inputs = request.allInputs();
      request.inputs().segment().fill((byte) 0);
      ErrorStatus status =
          whileHeld(
              fence -> {
                request.inputs().segment().copyFrom(MemorySegment.ofArray(inputs));
                fence.signal();
              },
              fence -> Probes.fenced(prepared, request.request(), fence, ExecutionConfig.DEFAULT));
      Expect.status("it", status, ErrorStatus.NONE);
      Expect.equal(
          expected,
          request.allOutputs(),
          "it did not wait for its fence: the result is of earlier inputs");
    }
  }

  private static void failedFence(PreparedModel prepared, DecodedExample decoded) throws Exception {
    try (TestRequest request = TestRequest.of(decoded)) {
      SyncFence fence = new SyncFence();
      fence.fail(new DeviceException(ErrorStatus.GENERAL_FAILURE, "the kit's"));
      Expect.status(
          "it",
          Probes.fenced(prepared, request.request(), fence, ExecutionConfig.DEFAULT),
          ErrorStatus.GENERAL_FAILURE);
    }
  }

  /** Calls with a fence that another thread signals a little later. */
  private static ErrorStatus whileHeld(
      Consumer<SyncFence> signalling, Parallel.Work<SyncFence, ErrorStatus, Exception> call)
      throws Exception {
    SyncFence fence = new SyncFence();
    Thread signaller =
        Thread.ofPlatform()
            .name("certify-fence")
            .daemon()
            .start(
                () -> {
                  LockSupport.parkNanos(HELD.toNanos());
                  signalling.accept(fence);
                });
    try {
      return call.apply(fence);
    } finally {
      signaller.join();
    }
  }
}
