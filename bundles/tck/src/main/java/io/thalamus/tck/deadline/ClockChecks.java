// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.deadline;

import io.thalamus.burst.BurstService;
import io.thalamus.hal.Device;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionControl;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PreparedModel;
import io.thalamus.hal.Request;
import io.thalamus.hal.SyncFence;
import io.thalamus.model.Deadline;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.Model;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Priority;
import io.thalamus.tck.check.Check;
import io.thalamus.tck.check.EndlessLoop;
import io.thalamus.tck.check.Expect;
import io.thalamus.tck.check.KitClock;
import io.thalamus.tck.check.Probes;
import io.thalamus.tck.check.TestGraph;
import io.thalamus.tck.check.TestRequest;
import io.thalamus.vectors.DecodedExample;
import io.thalamus.vectors.Example;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeSet;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;

/**
 * Deadlines by a clock that the kit advances, so that they pass where it wants: before the call, at
 * a checkpoint, behind a fence. Once a request is in a packet of a burst, its deadline is by the
 * clock of the process, and the control stays with the client: bursts have the first ones only.
 * Immutable.
 *
 * @param device who is tested
 * @param bursts that opens bursts
 * @param examples of which the device takes all
 * @param directory for cache files
 */
record ClockChecks(Device device, BurstService bursts, List<Example> examples, Path directory) {
  /** The operations of the model that has checkpoints between them. */
  private static final int CHAIN = 24;

  private static final int ELEMENTS = 64;
  private static final Duration MINUTE = Duration.ofMinutes(1);
  private static final Duration HOUR = Duration.ofHours(1);

  /** The time that a fence is held back, for a call to begin to wait for it. */
  private static final Duration HELD = Duration.ofMillis(30);

  /** The checkpoints of a loop that no time passes at. */
  private static final int ROUNDS = 200;

  private static final Duration LOOP = Duration.ofMillis(1);

  private static final AtomicInteger FOLDERS = new AtomicInteger();

  /** A part of a check, with one model. */
  @FunctionalInterface
  private interface Part {
    void run(Trial trial) throws Exception;
  }

  List<Check> checks() {
    List<Check> checks = new ArrayList<>();
    for (Way way : Way.values()) {
      if (way.isKnownTo(device)) {
        checks.add(check(way, "past by the kit's clock", trial -> past(trial, way)));
        checks.add(check(way, "ahead by the kit's clock", trial -> ahead(trial, way)));
        if (way != Way.BURST) {
          checks.add(check(way, "overtaken at a checkpoint", trial -> overtaken(trial, way)));
        }
      }
    }
    checks.add(check(Way.FENCED, "overtaken behind a fence", this::behindFence));
    checks.add(check(Way.FENCED, "for no time", this::forNoTime));
    checks.add(check(Way.FENCED, "for a time from the fence on", this::fromFenceOn));
    checks.add(check(Way.FENCED, "for a time that ends at a checkpoint", this::forATime));
    checks.add(new Check("the timeout of a loop by the kit's clock", this::loopTimeout));
    return checks;
  }

  private Check check(Way way, String name, Part part) {
    return new Check(way.text() + " " + name, () -> each(way, part));
  }

  /** Runs a part with a chain of operations, and with the examples. */
  private void each(Way way, Part part) throws Exception {
    boolean isTried = false;
    for (OperationCode operation : List.of(OperationCode.ADD, OperationCode.RELU)) {
      Model chain = TestGraph.chain(operation, CHAIN, ELEMENTS);
      if (Probes.takes(device, chain)) {
        Trial trial = trial(chain, () -> TestRequest.of(chain.main(), input()));
        if (trial.isPossible(way)) {
          Expect.at("a chain of " + operation, () -> part.run(trial));
          isTried = true;
        }
      }
    }
    for (Example example : examples) {
      try (DecodedExample decoded = example.decode()) {
        Trial trial = trial(decoded.model(), () -> TestRequest.of(decoded));
        if (trial.isPossible(way)) {
          Expect.at(example.name(), () -> part.run(trial));
          isTried = true;
        }
      }
    }
    if (!isTried) {
      throw Expect.skip("no example goes by " + way.text());
    }
  }

  private static byte[] input() {
    float[] values = new float[ELEMENTS];
    for (int i = 0; i < values.length; i++) {
      values[i] = i + 1;
    }
    return TestGraph.bytes(values);
  }

  private Trial trial(Model model, Supplier<TestRequest> requests) throws Exception {
    return new Trial(
        device, model, requests, directory.resolve("clock" + FOLDERS.incrementAndGet()));
  }

  private static ExecutionConfig config(KitClock clock, Deadline deadline) {
    return ExecutionConfig.DEFAULT.with(deadline).with(clock);
  }

  /** Nothing of it begins. */
  private void past(Trial trial, Way way) throws Exception {
    try (Calls calls = trial.open(way, Priority.MEDIUM, bursts)) {
      KitClock clock = KitClock.ahead();
      ExecutionConfig late = config(clock, Deadline.after(Duration.ZERO, clock));
      // Whoever waits for a burst asks the control as well.
      expectNotBegun(calls, clock, way == Way.BURST ? late.with(ExecutionControl.NONE) : late);
    }
  }

  private static void expectNotBegun(Calls calls, KitClock clock, ExecutionConfig config)
      throws Exception {
    ErrorStatus status = calls.run(config);
    Expect.status("it", status, Expect.missed());
    Expect.that(
        clock.checkpoints() == 0,
        "it passed " + clock.checkpoints() + " checkpoints though its deadline had passed");
    expectServed(calls, status);
  }

  private static void expectServed(Calls calls, ErrorStatus status) throws Exception {
    DeadlineSuite.expectServed(calls, status);
  }

  private void ahead(Trial trial, Way way) throws Exception {
    try (Calls calls = trial.open(way, Priority.MEDIUM, bursts)) {
      KitClock clock = KitClock.behind();
      Expect.status(
          "it", calls.run(config(clock, Deadline.after(MINUTE, clock))), ErrorStatus.NONE);
    }
  }

  private void overtaken(Trial trial, Way way) throws Exception {
    try (Calls calls = trial.open(way, Priority.MEDIUM, bursts)) {
      expectStopped(calls, clock -> config(clock, Deadline.after(MINUTE, clock)));
    }
  }

  /** Settings that depend on the clock. */
  @FunctionalInterface
  private interface Settings {
    ExecutionConfig of(KitClock clock);
  }

  /** Has the time run out at a checkpoint: early, in the middle, and near the end. */
  private static void expectStopped(Calls calls, Settings settings) throws Exception {
    KitClock undisturbed = KitClock.ahead();
    Expect.status("it", calls.run(settings.of(undisturbed)), ErrorStatus.NONE);
    int all = undisturbed.checkpoints();
    for (int at : new TreeSet<>(List.of(1, all / 2, all - 2))) {
      if (at >= 1) {
        KitClock clock = KitClock.advancing(at, HOUR);
        ErrorStatus status = calls.run(settings.of(clock));
        DeadlineSuite.expectDoneOrMissed(status);
        Expect.that(
            clock.checkpoints() <= at + 1,
            "after its deadline it passed " + (clock.checkpoints() - at) + " checkpoints");
        expectServed(calls, status);
      }
    }
  }

  /** Something that happens while a call waits for its fence. */
  @FunctionalInterface
  private interface Meanwhile {
    void run();
  }

  private static Calls fenced(Trial trial, Meanwhile meanwhile) throws Exception {
    return trial.executing(
        Priority.MEDIUM,
        (prepared, request, config) -> heldBack(prepared, request, config, meanwhile));
  }

  private static ErrorStatus heldBack(
      PreparedModel prepared, Request request, ExecutionConfig config, Meanwhile meanwhile)
      throws Exception {
    SyncFence fence = new SyncFence();
    Thread signaller =
        Thread.ofPlatform()
            .name("certify-fence")
            .daemon()
            .start(
                () -> {
                  LockSupport.parkNanos(HELD.toNanos());
                  meanwhile.run();
                  fence.signal();
                });
    try {
      return Probes.fenced(prepared, request, fence, config);
    } finally {
      signaller.join();
    }
  }

  private void behindFence(Trial trial) throws Exception {
    KitClock clock = KitClock.ahead();
    try (Calls calls = fenced(trial, () -> clock.advance(HOUR))) {
      expectNotBegun(calls, clock, config(clock, Deadline.after(MINUTE, clock)));
    }
  }

  private static ExecutionConfig lasting(KitClock clock, Duration duration) {
    return config(clock, Deadline.never(clock)).withDuration(duration);
  }

  private void forNoTime(Trial trial) throws Exception {
    try (Calls calls = trial.open(Way.FENCED, Priority.MEDIUM, bursts)) {
      KitClock clock = KitClock.ahead();
      expectNotBegun(calls, clock, lasting(clock, Duration.ZERO));
    }
  }

  /** The time that passes until the fence signals does not count. */
  private void fromFenceOn(Trial trial) throws Exception {
    KitClock clock = KitClock.behind();
    try (Calls calls = fenced(trial, () -> clock.advance(HOUR))) {
      Expect.status("it", calls.run(lasting(clock, MINUTE)), ErrorStatus.NONE);
    }
  }

  private void forATime(Trial trial) throws Exception {
    try (Calls calls = trial.open(Way.FENCED, Priority.MEDIUM, bursts)) {
      expectStopped(calls, clock -> lasting(clock, MINUTE));
    }
  }

  /** It ends soon after the timeout, and not before. */
  private void loopTimeout() throws Exception {
    Model model = EndlessLoop.model();
    if (!Probes.takes(device, model)) {
      throw Expect.skip("the device takes no WHILE of ADD and LESS");
    }
    try (PreparedModel prepared = device.prepare(model, PrepareConfig.DEFAULT);
        TestRequest request = TestRequest.of(model.main())) {
      KitClock clock = KitClock.advancing(ROUNDS, HOUR);
      ExecutionConfig config = config(clock, Deadline.never(clock)).withLoopTimeout(LOOP);
      ExecutionResult result = prepared.execute(request.request(), slowly(config, clock));
      Expect.failed(result, Expect.missed());
      Expect.that(
          clock.checkpoints() >= ROUNDS,
          "it ended after " + clock.checkpoints() + " checkpoints, before its time was over");
      Expect.that(
          clock.checkpoints() <= ROUNDS + CHAIN,
          "it looped on for " + (clock.checkpoints() - ROUNDS) + " checkpoints");
    }
  }

  /** A control whose first checkpoint takes longer than the timeout, by the process's clock. */
  private static ExecutionConfig slowly(ExecutionConfig config, KitClock clock) {
    return config.with(
        () -> {
          if (clock.checkpoints() == 0) {
            LockSupport.parkNanos(2 * LOOP.toNanos());
          }
          return clock.checkpoint();
        });
  }
}
