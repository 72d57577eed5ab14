// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.certify;

import io.thalamus.hal.Device;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionControl;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.FencedExecution;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PreparedModel;
import io.thalamus.hal.Request;
import io.thalamus.hal.SyncFence;
import io.thalamus.model.Deadline;
import io.thalamus.model.ErrorStatus;
import io.thalamus.tck.caching.CachingTests;
import io.thalamus.tck.control.StopSuite;
import io.thalamus.tck.request.TestRequest;
import io.thalamus.vectors.DecodedExample;
import io.thalamus.vectors.Example;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/** Deadlines and cancellation, of all calls that take them; and fences. */
final class ControlChecks {
  private static final Set<ErrorStatus> MISSED =
      Set.of(ErrorStatus.MISSED_DEADLINE_TRANSIENT, ErrorStatus.MISSED_DEADLINE_PERSISTENT);

  private static final Deadline NEVER = Deadline.NONE;

  /** Longer than any example takes; only a fence that is lost makes anyone wait for it. */
  private static final long FENCE_SECONDS = 120;

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
    List<Example> examples = ConcurrencyChecks.some(subject);
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
      findings.attempt("cancel at the first checkpoint", () -> cancel(device, examples));
      each(findings, "a fence fails", examples, one -> failedFence(device, one));
      List<Example> few = examples.subList(0, Math.min(HELD_EXAMPLES, examples.size()));
      each(findings, "a fence is waited for", few, one -> waits(device, one));
      each(findings, "a deadline behind a fence", few, one -> behind(device, one));
    }
    longOnes(device, findings);
  }

  private static void longOnes(Device device, Findings findings) {
    List<StopSuite.Finding> stopped = new StopSuite(device).run();
    if (stopped.isEmpty()) {
      findings.skip("long operations", "the device takes none of the kit's long operations");
    }
    for (StopSuite.Finding finding : stopped) {
      String name = "long " + finding.operation() + " " + finding.signal();
      if (finding.isUnstopped()) {
        // Legal within one operation: such a device is watched from outside.
        findings.skip(name, "the device passes no checkpoint inside a long operation");
      } else {
        findings.add(name, finding.fault());
      }
    }
  }

  /** A check of one example. */
  @FunctionalInterface
  private interface OfExample {
    Optional<String> run(Example example) throws Exception;
  }

  private static void each(Findings findings, String name, List<Example> examples, OfExample check)
      throws InterruptedException {
    findings.attempt(
        name,
        () -> {
          for (Example example : examples) {
            Optional<String> fault = check.run(example);
            if (fault.isPresent()) {
              return Optional.of(example.name() + ": " + fault.get());
            }
          }
          return Optional.empty();
        });
  }

  private static void deadlines(Findings findings, List<Example> examples, String name, Call call)
      throws InterruptedException {
    each(
        findings,
        name + " after its deadline",
        examples,
        one -> ended(call.run(one, after(Duration.ofSeconds(-1))), false));
    each(
        findings,
        name + " at its deadline",
        examples,
        one -> {
          for (Duration left : List.of(Duration.ofNanos(1), Duration.ofMillis(1))) {
            ErrorStatus status = call.run(one, after(left));
            if (status != ErrorStatus.NONE && !MISSED.contains(status)) {
              return Optional.of("with " + left + " left it ended with " + status);
            }
          }
          return Optional.empty();
        });
    each(
        findings,
        name + " before its deadline",
        examples,
        one -> ended(call.run(one, after(Duration.ofHours(1))), true));
    each(
        findings, name + " without a deadline", examples, one -> ended(call.run(one, NEVER), true));
  }

  private static Deadline after(Duration left) {
    return Deadline.after(left);
  }

  private static Optional<String> ended(ErrorStatus status, boolean inTime) {
    boolean isRight = inTime ? status == ErrorStatus.NONE : MISSED.contains(status);
    return isRight
        ? Optional.empty()
        : Optional.of(
            "it ended with " + status + ", not with " + (inTime ? ErrorStatus.NONE : MISSED));
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
      return fenced(prepared, request.request(), List.of(SyncFence.signalled()), config);
    }
  }

  /** Returns how a fenced execution ends, in whatever way it says so. */
  private static ErrorStatus fenced(
      PreparedModel prepared, Request request, List<SyncFence> fences, ExecutionConfig config)
      throws Exception {
    try {
      FencedExecution execution = prepared.executeFenced(request, fences, config);
      execution.syncFence().future().get(FENCE_SECONDS, TimeUnit.SECONDS);
      return execution.executionInfo().get().result().status();
    } catch (DeviceException e) {
      return e.status();
    } catch (ExecutionException | CompletionException e) {
      if (e.getCause() instanceof DeviceException cause) {
        return cause.status();
      }
      throw e;
    }
  }

  /** Stops executions where they ask first; one without any work may not ask. */
  private static Optional<String> cancel(Device device, List<Example> examples) throws Exception {
    boolean[] asked = new boolean[2]; // by the execution, by any
    ExecutionControl control =
        () -> {
          asked[0] = true;
          return ExecutionControl.Signal.CANCELLED;
        };
    for (Example example : examples) {
      asked[0] = false;
      ExecutionResult result = execute(device, example, ExecutionConfig.DEFAULT.with(control));
      Optional<String> fault =
          asked[0] ? Probes.failed(result, ErrorStatus.GENERAL_FAILURE) : Optional.empty();
      if (fault.isPresent()) {
        return Optional.of(example.name() + ": " + fault.get());
      }
      asked[1] |= asked[0];
    }
    return asked[1]
        ? Optional.empty()
        : Optional.of("it asks at no operation whether it is to stop");
  }

  /** The inputs of a fenced execution are there only when its fence signals. */
  private static Optional<String> waits(Device device, Example example) throws Exception {
    return Probes.with(
        device,
        example,
        (prepared, decoded) -> {
          byte[] expected = Probes.outputs(prepared, decoded);
          try (TestRequest request = TestRequest.of(decoded)) {
            byte[] inputs = Probes.bytes(request.inputs());
            request.inputs().segment().fill((byte) 0);
            ErrorStatus status =
                whileHeld(
                    fence -> fenced(prepared, request.request(), List.of(fence), config(NEVER)),
                    fence -> {
                      request.inputs().segment().copyFrom(MemorySegment.ofArray(inputs));
                      fence.signal();
                    });
            if (status != ErrorStatus.NONE) {
              return Optional.of("it ended with " + status);
            }
            return Arrays.equals(expected, request.allOutputs())
                ? Optional.empty()
                : Optional.of("it did not wait for its fence: the result is of earlier inputs");
          }
        });
  }

  private static Optional<String> failedFence(Device device, Example example) throws Exception {
    return Probes.with(
        device,
        example,
        (prepared, decoded) -> {
          try (TestRequest request = TestRequest.of(decoded)) {
            SyncFence fence = new SyncFence();
            fence.fail(new DeviceException(ErrorStatus.GENERAL_FAILURE, "the kit's"));
            ErrorStatus status = fenced(prepared, request.request(), List.of(fence), config(NEVER));
            return status == ErrorStatus.GENERAL_FAILURE
                ? Optional.empty()
                : Optional.of("it ended with " + status + ", not with GENERAL_FAILURE");
          }
        });
  }

  /** The fence signals after the deadline. */
  private static Optional<String> behind(Device device, Example example) throws Exception {
    return Probes.with(
        device,
        example,
        (prepared, decoded) -> {
          try (TestRequest request = TestRequest.of(decoded)) {
            return ended(
                whileHeld(
                    fence ->
                        fenced(
                            prepared,
                            request.request(),
                            List.of(fence),
                            config(after(HELD.dividedBy(10)))),
                    SyncFence::signal),
                false);
          }
        });
  }

  /** A call that waits for a fence. */
  @FunctionalInterface
  private interface Waiting {
    ErrorStatus run(SyncFence fence) throws Exception;
  }

  /** Something that is done when the time to signal has come. */
  @FunctionalInterface
  private interface Signalling {
    void run(SyncFence fence);
  }

  /** Calls with a fence that another thread signals a little later. */
  private static ErrorStatus whileHeld(Waiting call, Signalling signalling) throws Exception {
    SyncFence fence = new SyncFence();
    Thread signaller =
        Thread.ofPlatform()
            .name("certify-fence")
            .daemon()
            .start(
                () -> {
                  LockSupport.parkNanos(HELD.toNanos());
                  signalling.run(fence);
                });
    try {
      return call.run(fence);
    } finally {
      signaller.join();
    }
  }
}
