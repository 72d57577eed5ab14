// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.deadline;

import io.thalamus.burst.BurstService;
import io.thalamus.hal.Device;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.model.Deadline;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.Priority;
import io.thalamus.tck.check.Check;
import io.thalamus.tck.check.Expect;
import io.thalamus.tck.check.TemporaryFolder;
import io.thalamus.tck.check.TestRequest;
import io.thalamus.vectors.DecodedExample;
import io.thalamus.vectors.Example;
import io.thalamus.vectors.Outcome;
import io.thalamus.vectors.VectorFormatException;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/**
 * AOSP's DeadlineTest, with more calls and stricter: every call that takes a deadline, each with no
 * time left, five milliseconds, a tenth of what it takes, and no deadline, at each priority. A
 * deadline that has passed is missed, which AOSP leaves to the driver: it costs one look at a
 * clock, and whoever asks too late relies on it that nothing runs. One that is near may be missed;
 * without a deadline the call succeeds. Each success is right, and after a miss the same call
 * succeeds. Then the {@link ClockChecks}.
 *
 * <p>Immutable; runs in the calling thread. Borrows the device and the service.
 *
 * @param device who is tested
 * @param bursts that opens bursts
 * @param examples of which the device takes all
 * @param some of them, which also run by a clock that the kit advances
 */
public record DeadlineSuite(
    Device device, BurstService bursts, List<Example> examples, List<Example> some) {
  public DeadlineSuite {
    Objects.requireNonNull(device, "device");
    Objects.requireNonNull(bursts, "bursts");
    examples = List.copyOf(examples);
    some = List.copyOf(some);
  }

  /** Returns the outcome of each check, over all examples, by its name. */
  public Map<String, Outcome> run() throws IOException, InterruptedException {
    Map<String, Outcome> outcomes = new LinkedHashMap<>();
    try (TemporaryFolder folder = TemporaryFolder.create()) {
      for (Way way : Way.values()) {
        if (!way.isKnownTo(device)) {
          outcomes.put(way.text(), new Outcome.Skipped("the device has no calls to " + way.text()));
        }
      }
      for (int i = 0; i < examples.size(); i++) {
        Example example = examples.get(i);
        Path own = folder.path().resolve("example" + i);
        Outcome outcome = Check.run(() -> run(example, own, outcomes));
        if (outcome instanceof Outcome.Failed) {
          add(outcomes, name(Way.EXECUTE, TimeLeft.NEVER, Priority.MEDIUM), example, outcome);
        }
      }
      for (Check check : new ClockChecks(device, bursts, some, folder.path()).checks()) {
        outcomes.put(check.name(), check.run());
      }
    }
    return outcomes;
  }

  private static String name(Way way, TimeLeft left, Priority priority) {
    return way.text() + " " + left.text() + " " + priority;
  }

  /** The first failure stays, and says of which example it is. */
  private static void add(
      Map<String, Outcome> outcomes, String name, Example example, Outcome outcome) {
    Outcome reported =
        outcome instanceof Outcome.Failed failed
            ? new Outcome.Failed(example.name() + ": " + failed.reason())
            : outcome;
    outcomes.compute(name, (_, before) -> before instanceof Outcome.Failed ? before : reported);
  }

  private void run(Example example, Path directory, Map<String, Outcome> outcomes)
      throws DeviceException, VectorFormatException, InterruptedException {
    try (DecodedExample decoded = example.decode()) {
      Trial trial = new Trial(device, decoded.model(), () -> TestRequest.of(decoded), directory);
      for (Way way : Way.values()) {
        if (way.isKnownTo(device) && trial.isPossible(way)) {
          for (Priority priority : Priority.values()) {
            Outcome all = Check.run(() -> run(trial, way, priority, example, outcomes));
            if (all instanceof Outcome.Failed) {
              for (TimeLeft left : TimeLeft.values()) {
                add(outcomes, name(way, left, priority), example, all);
              }
            }
          }
        }
      }
    }
  }

  private void run(
      Trial trial, Way way, Priority priority, Example example, Map<String, Outcome> outcomes)
      throws Exception {
    try (Calls calls = trial.open(way, priority, bursts)) {
      calls.run(ExecutionConfig.DEFAULT);
      long start = System.nanoTime();
      calls.run(ExecutionConfig.DEFAULT);
      Duration idle = Duration.ofNanos(System.nanoTime() - start);
      for (TimeLeft left : TimeLeft.values()) {
        add(
            outcomes,
            name(way, left, priority),
            example,
            Check.run(() -> check(calls, left, left.from(idle))));
      }
    }
  }

  private static void check(Calls calls, TimeLeft left, Deadline deadline) throws Exception {
    ErrorStatus status = calls.run(ExecutionConfig.DEFAULT.with(deadline));
    switch (left) {
      case PAST -> Expect.status("it", status, Expect.missed());
      case NEVER -> Expect.status("it", status, ErrorStatus.NONE);
      case SHORT, TENTH -> expectDoneOrMissed(status);
    }
    expectServed(calls, status);
  }

  /** Expects what a device may answer to a deadline that it may miss. */
  static void expectDoneOrMissed(ErrorStatus status) {
    if (status != ErrorStatus.NONE) {
      Expect.status("it", status, Expect.missed());
    }
  }

  /** Expects that the call after a miss succeeds. */
  static void expectServed(Calls calls, ErrorStatus status) throws Exception {
    if (status != ErrorStatus.NONE) {
      Expect.status(
          "the next one, without a deadline,",
          calls.run(ExecutionConfig.DEFAULT),
          ErrorStatus.NONE);
    }
  }
}
