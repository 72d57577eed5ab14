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
import io.thalamus.model.Deadline;
import io.thalamus.model.ErrorStatus;
import io.thalamus.tck.caching.CachingTests;
import io.thalamus.tck.check.Check;
import io.thalamus.tck.check.Expect;
import io.thalamus.tck.check.Parallel;
import io.thalamus.tck.check.Probes;
import io.thalamus.tck.check.TestRequest;
import io.thalamus.tck.control.StopSuite;
import io.thalamus.vectors.DecodedExample;
import io.thalamus.vectors.Example;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;

/** Deadlines and cancellation, of all calls that take them; and fences. */
final class ControlChecks {
  private static final Deadline NEVER = Deadline.NONE;

  /** The time that a fence is held back, several times the deadline before it. */
  private static final Duration HELD = Duration.ofMillis(60);

  private static final int HELD_EXAMPLES = 3;

  private ControlChecks() {}

  /** A call that ends with a status: NONE where it was done. */
  @FunctionalInterface
  private interface Call {
    ErrorStatus run(Example example, Deadline deadline) throws Exception;
  }

  static void run(Subject subject, Findings findings) throws IOException, InterruptedException {
    Device device = subject.device();
    List<Example> examples = subject.some();
    if (!examples.isEmpty()) {
      deadlines(findings, examples, "prepare", (example, at) -> prepare(device, example, at));
      if (CachingTests.isClaimed(device)) {
        try (CachingTests tests = new CachingTests(device, subject.seed())) {
          Device restoring = tests.restoring();
          deadlines(findings, examples, "restore", (one, at) -> prepare(restoring, one, at));
        }
      }
      deadlines(
          findings, examples, "execute", (one, at) -> execute(device, one, config(at)).status());
      deadlines(findings, examples, "execute fenced", (one, at) -> fenced(device, one, config(at)));
      deadlines(
          findings,
          examples,
          "execute fenced for a duration",
          (one, at) -> fenced(device, one, forDuration(at)));
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
      each(
          findings,
          "a deadline behind a fence",
          few,
          one -> Probes.prepared(device, one, ControlChecks::behind));
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

  private static void deadlines(Findings findings, List<Example> examples, String name, Call call)
      throws InterruptedException {
    each(
        findings,
        name + " after its deadline",
        examples,
        one ->
            Expect.status(
                "it", call.run(one, Deadline.after(Duration.ofSeconds(-1))), Expect.missed()));
    each(
        findings,
        name + " at its deadline",
        examples,
        one -> {
          for (Duration left : List.of(Duration.ofNanos(1), Duration.ofMillis(1))) {
            ErrorStatus status = call.run(one, Deadline.after(left));
            if (status != ErrorStatus.NONE) {
              Expect.status("with " + left + " left it", status, Expect.missed());
            }
          }
        });
    each(
        findings,
        name + " before its deadline",
        examples,
        one ->
            Expect.status(
                "it", call.run(one, Deadline.after(Duration.ofHours(1))), ErrorStatus.NONE));
    each(
        findings,
        name + " without a deadline",
        examples,
        one -> Expect.status("it", call.run(one, NEVER), ErrorStatus.NONE));
  }

  private static ErrorStatus prepare(Device device, Example example, Deadline deadline)
      throws Exception {
    try (DecodedExample decoded = example.decode()) {
      device.prepare(decoded.model(), PrepareConfig.DEFAULT.with(deadline)).close();
      return ErrorStatus.NONE;
    } catch (DeviceException e) {
      return e.status();
    }
  }

  private static ExecutionConfig config(Deadline deadline) {
    return ExecutionConfig.DEFAULT.with(deadline).withMeasureTiming(true);
  }

  /** As long as is left until the deadline; where that has passed, no time at all. */
  private static ExecutionConfig forDuration(Deadline deadline) {
    if (deadline.equals(NEVER)) {
      return ExecutionConfig.DEFAULT;
    }
    Duration left = deadline.remaining();
    return ExecutionConfig.DEFAULT.withDuration(left.isNegative() ? Duration.ZERO : left);
  }

  private static ExecutionResult execute(Device device, Example example, ExecutionConfig config)
      throws Exception {
    try (DecodedExample decoded = example.decode();
        PreparedModel prepared = device.prepare(decoded.model(), PrepareConfig.DEFAULT);
        TestRequest request = TestRequest.of(decoded)) {
      return prepared.execute(request.request(), config);
    }
  }

  private static ErrorStatus fenced(Device device, Example example, ExecutionConfig config)
      throws Exception {
    try (DecodedExample decoded = example.decode();
        PreparedModel prepared = device.prepare(decoded.model(), PrepareConfig.DEFAULT);
        TestRequest request = TestRequest.of(decoded)) {
      return Probes.fenced(prepared, request.request(), SyncFence.signalled(), config);
    } catch (DeviceException e) {
      return e.status();
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
              fence -> Probes.fenced(prepared, request.request(), fence, config(NEVER)));
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
          Probes.fenced(prepared, request.request(), fence, config(NEVER)),
          ErrorStatus.GENERAL_FAILURE);
    }
  }

  /** The fence signals after the deadline. */
  private static void behind(PreparedModel prepared, DecodedExample decoded) throws Exception {
    try (TestRequest request = TestRequest.of(decoded)) {
      // Before the fence is held: a caller that waits for a processor must not come too late.
      ExecutionConfig config = config(Deadline.after(HELD.dividedBy(10)));
      ErrorStatus status =
          whileHeld(
              SyncFence::signal,
              fence -> Probes.fenced(prepared, request.request(), fence, config));
      Expect.status("it", status, Expect.missed());
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
