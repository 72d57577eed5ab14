// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.fence;

import io.thalamus.hal.Device;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionControl;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.FencedExecution;
import io.thalamus.hal.FencedExecution.Info;
import io.thalamus.hal.SyncFence;
import io.thalamus.model.Deadline;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.Timing;
import io.thalamus.tck.check.Check;
import io.thalamus.tck.check.Expect;
import io.thalamus.tck.check.KitClock;
import io.thalamus.vectors.DecodedExample;
import io.thalamus.vectors.Example;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.function.Consumer;
import java.util.stream.Stream;

/**
 * Fenced executions: fences that signal late, fail or never signal; the fence of the execution, its
 * times, and chains. A driver may wait in the thread of the call or return before, and may tell a
 * failure by an exception or by its fence; it need not measure. After each failure the same model
 * executes as before. Immutable; runs in the calling thread, and ends its other threads. Borrows
 * the device.
 *
 * @param device who is tested
 * @param examples of which the device takes all
 * @param limit the time after which an execution counts as lost
 */
public record FenceSuite(Device device, List<Example> examples, Duration limit) {
  /** The time that a fence is held back, for a driver that does not wait to be done. */
  private static final Duration HELD = Duration.ofMillis(40);

  private static final Duration MINUTE = Duration.ofMinutes(1);
  private static final Duration HOUR = Duration.ofHours(1);

  /** The fences of one that waits for several. */
  private static final int SEVERAL = 3;

  public FenceSuite {
    Objects.requireNonNull(device, "device");
    Objects.requireNonNull(limit, "limit");
    examples = List.copyOf(examples);
  }

  /** A part of a check, with one model. */
  @FunctionalInterface
  private interface Part {
    void run(FenceTrial trial) throws Exception;
  }

  /** Returns the checks. */
  public List<Check> checks() {
    List<Check> checks = new ArrayList<>();
    checks.add(check("no fence", FenceSuite::none));
    checks.add(check("a late fence", FenceSuite::late));
    checks.add(check("each of several is late", FenceSuite::eachLate));
    checks.add(check("a fence has failed", FenceSuite::hasFailed));
    checks.add(check("a fence fails late", FenceSuite::failsLate));
    checks.add(check("one of several has failed", FenceSuite::oneHasFailed));
    checks.add(check("a fence that never signals, with a deadline", FenceSuite::deadline));
    checks.add(check("a fence that never signals, cancelled", FenceSuite::cancelled));
    checks.add(check("its fence signals once, after the outputs", FenceSuite::signalsOnce));
    checks.add(check("its fence waits, and there is no result", FenceSuite::noResultBefore));
    checks.add(check("times", FenceSuite::times));
    checks.add(check("times unasked", FenceSuite::timesUnasked));
    checks.addAll(new ChainChecks(device, limit).checks());
    return checks;
  }

  private Check check(String name, Part part) {
    return new Check(name, () -> each(part));
  }

  private void each(Part part) throws Exception {
    boolean isTried = false;
    for (Example example : examples) {
      try (DecodedExample decoded = example.decode()) {
        if (isPossible(decoded)) {
          isTried = true;
          try (FenceTrial trial = new FenceTrial(device, decoded, limit)) {
            Expect.at(example.name(), () -> part.run(trial));
          }
        }
      }
    }
    if (!isTried) {
      throw Expect.skip("the outputs of no example have a known size");
    }
  }

  private static boolean isPossible(DecodedExample decoded) {
    return decoded.model().main().outputIndexes().stream()
        .allMatch(index -> decoded.model().main().operands().get(index).isSizeKnown());
  }

  private static void none(FenceTrial trial) throws Exception {
    try (Launch launch = trial.launch(List.of(), ExecutionConfig.DEFAULT)) {
      launch.done();
      trial.expectOutputs("without a fence");
    }
  }

  private static void late(FenceTrial trial) throws Exception {
    heldBack(trial, ExecutionConfig.DEFAULT);
  }

  /** The inputs are there only when the fence signals. */
  private static Info heldBack(FenceTrial trial, ExecutionConfig config) throws Exception {
    trial.removeInputs();
    SyncFence fence = new SyncFence();
    try (Launch launch = trial.launch(List.of(fence), config)) {
      launch.settle(HELD);
      expectWaiting(launch, trial);
      trial.restoreInputs();
      fence.signal();
      Info info = launch.done();
      trial.expectOutputs("it did not wait for its fence");
      return info;
    }
  }

  private static void expectWaiting(Launch launch, FenceTrial trial) {
    Expect.that(!launch.isDone(), "it ended before its fence signalled");
    trial.expectUntouched("its fence has not signalled");
  }

  private static void eachLate(FenceTrial trial) throws Exception {
    for (int i = 0; i < SEVERAL; i++) {
      trial.removeInputs();
      List<SyncFence> fences = fences();
      SyncFence last = fences.get(i);
      try (Launch launch = trial.launch(fences, ExecutionConfig.DEFAULT)) {
        fences.stream().filter(fence -> fence != last).forEach(SyncFence::signal);
        launch.settle(HELD);
        expectWaiting(launch, trial);
        trial.restoreInputs();
        last.signal();
        launch.done();
        trial.expectOutputs("it did not wait for its fence " + i);
      }
    }
  }

  private static List<SyncFence> fences() {
    return Stream.generate(SyncFence::new).limit(SEVERAL).toList();
  }

  private static DeviceException failure() {
    return DeviceException.failure("the kit's");
  }

  private static void hasFailed(FenceTrial trial) throws Exception {
    SyncFence fence = new SyncFence();
    fence.fail(failure());
    expectFailure(trial, List.of(fence), _ -> {});
  }

  private static void failsLate(FenceTrial trial) throws Exception {
    SyncFence fence = new SyncFence();
    expectFailure(trial, List.of(fence), _ -> fence.fail(failure()));
  }

  private static void oneHasFailed(FenceTrial trial) throws Exception {
    for (int i = 0; i < SEVERAL; i++) {
      List<SyncFence> fences = fences();
      fences.get(i).fail(failure());
      fences.forEach(SyncFence::signal);
      expectFailure(trial, fences, _ -> {});
    }
  }

  /** Nothing may be computed: the inputs are perhaps not there. */
  private static void expectFailure(
      FenceTrial trial, List<SyncFence> fences, Consumer<Launch> meanwhile) throws Exception {
    KitClock clock = KitClock.ahead();
    ExecutionConfig config =
        ExecutionConfig.DEFAULT.with(Deadline.never(clock)).with((ExecutionControl) clock);
    try (Launch launch = trial.launch(fences, config)) {
      if (fences.stream().noneMatch(SyncFence::isDone)) {
        launch.settle(HELD);
        expectWaiting(launch, trial);
      }
      meanwhile.accept(launch);
      launch.failed(ErrorStatus.GENERAL_FAILURE);
    }
    expectNothingBegan(trial, clock);
  }

  private static void expectNothingBegan(FenceTrial trial, KitClock clock) throws Exception {
    Expect.that(
        clock.checkpoints() == 0,
        "it passed " + clock.checkpoints() + " checkpoints though it could not begin");
    trial.expectUntouched("it could not begin");
    trial.expectServed();
  }

  private static void deadline(FenceTrial trial) throws Exception {
    KitClock clock = KitClock.ahead();
    ExecutionConfig config =
        ExecutionConfig.DEFAULT.with(Deadline.after(MINUTE, clock)).with((ExecutionControl) clock);
    try (Launch launch = trial.launch(List.of(new SyncFence()), config)) {
      launch.settle(HELD);
      expectWaiting(launch, trial);
      clock.advance(HOUR);
      launch.failed(Expect.missed());
    }
    expectNothingBegan(trial, clock);
  }

  /** Says that the execution is cancelled, from a moment on. */
  private static final class Cancellation implements ExecutionControl {
    private volatile Signal signal = Signal.CONTINUE;

    @Override
    public Signal checkpoint() {
      return signal;
    }

    @Override
    public Signal status() {
      return signal;
    }
  }

  private static void cancelled(FenceTrial trial) throws Exception {
    Cancellation control = new Cancellation();
    ExecutionConfig config = ExecutionConfig.DEFAULT.with(control);
    try (Launch launch = trial.launch(List.of(new SyncFence()), config)) {
      launch.settle(HELD);
      expectWaiting(launch, trial);
      control.signal = ExecutionControl.Signal.CANCELLED;
      launch.failed(ErrorStatus.GENERAL_FAILURE);
    }
    expectNothingBegan(trial, KitClock.ahead());
  }

  /** The waiting thread reads the outputs, writes others, and asks again. */
  private static void signalsOnce(FenceTrial trial) throws Exception {
    SyncFence fence = new SyncFence();
    try (Launch launch = trial.launch(List.of(fence), ExecutionConfig.DEFAULT)) {
      fence.signal();
      Info info = launch.done();
      trial.expectOutputs("its fence signalled before they were written");
      trial.removeOutputs();
      Thread.sleep(HELD);
      trial.expectUntouched("its fence has signalled long ago");
      Expect.that(launch.done().equals(info), "its result changes after its fence has signalled");
    }
  }

  private static void noResultBefore(FenceTrial trial) throws Exception {
    SyncFence fence = new SyncFence();
    try (Launch launch = trial.launch(List.of(fence), ExecutionConfig.DEFAULT)) {
      launch.settle(HELD);
      expectWaiting(launch, trial);
      FencedExecution early = launch.answer();
      if (early != null) {
        ExecutionResult result = early.executionInfo().get().result();
        Expect.that(
            result.status() == ErrorStatus.GENERAL_FAILURE,
            "before its fence signals its result is " + result + ", not GENERAL_FAILURE");
      }
      fence.signal();
      launch.done();
    }
  }

  /** From the launch on, and from the fence on; by the kit's clock, or by a simulated one. */
  private static void times(FenceTrial trial) throws Exception {
    SyncFence fence = new SyncFence();
    ExecutionConfig config = ExecutionConfig.DEFAULT.withMeasureTiming(true);
    try (Launch launch = trial.launch(List.of(fence), config)) {
      launch.settle(HELD);
      long signalled = System.nanoTime();
      fence.signal();
      Info info = launch.done();
      Duration since = Duration.ofNanos(System.nanoTime() - signalled);
      expectOrder("from its launch", info.timingLaunched());
      expectOrder("from its fence on", info.timingFenced());
      info.timingFenced().inDriver().ifPresent(fenced -> expectSensible(info, fenced, since));
    }
  }

  private static void expectOrder(String which, Timing timing) {
    if (timing.onDevice().isPresent() && timing.inDriver().isPresent()) {
      Duration onDevice = timing.onDevice().get();
      Duration inDriver = timing.inDriver().get();
      Expect.that(
          !onDevice.isNegative() && onDevice.compareTo(inDriver) <= 0,
          which + " it took " + onDevice + " on the hardware and " + inDriver + " in the driver");
    }
  }

  private static void expectSensible(Info info, Duration fenced, Duration since) {
    Duration simulated = info.timingFenced().onDevice().orElse(Duration.ZERO);
    Expect.that(
        fenced.compareTo(since) <= 0 || fenced.compareTo(simulated.plus(since)) <= 0,
        "from its fence on it says " + fenced + ", but there were only " + since);
    info.timingLaunched()
        .inDriver()
        .ifPresent(
            launched ->
                Expect.that(
                    launched.minus(fenced).compareTo(HELD.dividedBy(2)) >= 0,
                    "a fence that was held back for "
                        + HELD
                        + " made "
                        + launched
                        + " of "
                        + fenced));
  }

  private static void timesUnasked(FenceTrial trial) throws Exception {
    Info info = heldBack(trial, ExecutionConfig.DEFAULT);
    Expect.that(
        info.timingLaunched().equals(Timing.NONE) && info.timingFenced().equals(Timing.NONE),
        "it gives times that were not asked for: " + info);
  }
}
