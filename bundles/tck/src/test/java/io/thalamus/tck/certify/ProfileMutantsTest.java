// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.certify;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.hal.DelegatingDevice;
import io.thalamus.hal.DelegatingPreparedModel;
import io.thalamus.hal.Device;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionProfile;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PreparedModel;
import io.thalamus.hal.Request;
import io.thalamus.model.Model;
import io.thalamus.tck.graph.EvaluatorDevice;
import io.thalamus.tck.graph.GraphGenerator;
import io.thalamus.vectors.Example;
import io.thalamus.vectors.Outcome;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The kit finds devices that tell wrong times of operations. */
class ProfileMutantsTest {
  private static final List<Example> EXAMPLES =
      Subject.some(GraphGenerator.over(new EvaluatorDevice()).singles(1, 1));

  /** The answer to a request for a profile. */
  @FunctionalInterface
  private interface Profile {
    Optional<ExecutionProfile> of(PreparedModel prepared, int operations, Request request)
        throws DeviceException;
  }

  /** A driver with a fault, and a part of the words in which the kit tells it. */
  private enum Fault {
    TOO_FEW_TIMES(
        "times of 3 operations",
        (prepared, operations, request) -> {
          long nanos = execute(prepared, request);
          return told(Collections.nCopies(operations - 1, nanos / operations));
        }),
    NO_EXECUTION(
        "not those of an execution",
        (_, operations, _) -> told(Collections.nCopies(operations, 1L))),
    A_NEGATIVE_TIME(
        "a time is negative",
        (prepared, operations, request) -> {
          execute(prepared, request);
          return told(Collections.nCopies(operations, -1L));
        }),
    NO_TIME(
        "took no time",
        (prepared, operations, request) -> {
          execute(prepared, request);
          return told(Collections.nCopies(operations, 0L));
        }),
    THE_TIME_OF_ALL_FOR_EACH(
        "but the call took",
        (prepared, operations, request) ->
            told(Collections.nCopies(operations, execute(prepared, request)))),
    TIMES_WHOSE_SUM_IS_NO_LONG(
        "but the call took",
        (prepared, operations, request) -> {
          execute(prepared, request);
          return told(Collections.nCopies(operations, Long.MAX_VALUE));
        }),
    A_PEAK_OF_NO_TIME(
        "a peak is not",
        (prepared, operations, request) -> {
          execute(prepared, request);
          return Optional.of(
              new ExecutionProfile(
                  Collections.nCopies(operations, 1L), 1e9, Double.POSITIVE_INFINITY));
        }),
    AN_EXCEPTION(
        "no counters",
        (_, _, _) -> {
          throw DeviceException.failure("no counters");
        }),
    AN_EXECUTION_WITHOUT_TIMES(
        "but wrote outputs",
        (prepared, _, request) -> {
          execute(prepared, request);
          return Optional.empty();
        });

    private final String words;
    private final Profile profile;

    Fault(String words, Profile profile) {
      this.words = words;
      this.profile = profile;
    }
  }

  private static Optional<ExecutionProfile> told(List<Long> nanos) {
    return Optional.of(new ExecutionProfile(nanos, 0, 0));
  }

  /** Returns the time of an execution in nanoseconds. */
  private static long execute(PreparedModel prepared, Request request) {
    long start = System.nanoTime();
    prepared.execute(request, ExecutionConfig.DEFAULT);
    return System.nanoTime() - start;
  }

  /** Returns how the check of a device with such profiles ends. */
  private static Outcome outcome(Profile profile) throws Exception {
    Device device =
        new DelegatingDevice(new EvaluatorDevice()) {
          @Override
          public PreparedModel prepare(Model model, PrepareConfig config) throws DeviceException {
            return new DelegatingPreparedModel(this, super.prepare(model, config)) {
              @Override
              public Optional<ExecutionProfile> profile(Request request) throws DeviceException {
                return profile.of(delegate(), model.main().operations().size(), request);
              }
            };
          }
        };
    List<Finding> findings = new ArrayList<>();
    LifecycleChecks.run(
        new Subject(Certification.of(device), EXAMPLES),
        new Findings("life cycle", device, findings::add));
    return findings.stream()
        .filter(finding -> finding.name().equals("times of operations"))
        .findFirst()
        .orElseThrow()
        .outcome();
  }

  @ParameterizedTest
  @EnumSource
  void aFaultIsFoundAndNamed(Fault fault) throws Exception {
    Outcome.Failed failed = assertInstanceOf(Outcome.Failed.class, outcome(fault.profile));
    assertTrue(failed.reason().contains(fault.words), failed::reason);
  }

  @Test
  void trueTimesPass() throws Exception {
    assertEquals(
        Outcome.PASSED,
        outcome(
            (prepared, operations, request) ->
                told(Collections.nCopies(operations, execute(prepared, request) / operations))));
  }

  @Test
  void aDeviceThatCannotTellIsSkipped() throws Exception {
    assertEquals(
        new Outcome.Skipped("the device does not tell how long operations take"),
        outcome((_, _, _) -> Optional.empty()));
  }
}
