// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.certify;

import io.thalamus.hal.Device;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionProfile;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PreparedModel;
import io.thalamus.model.Model;
import io.thalamus.tck.check.Expect;
import io.thalamus.tck.check.Probes;
import io.thalamus.tck.check.TestRequest;
import io.thalamus.vectors.Example;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** The times of operations, as a device tells them if it can. */
final class ProfileChecks {
  private static final int OPERATIONS = 3;

  /** The elements of a chain, with which each clock sees that it takes time. */
  private static final int ELEMENTS = 1 << 14;

  /** Four of these bytes are a float between 0 and 1. */
  private static final byte INPUT = 0x3F;

  /** Fills outputs, in which an execution leaves other bytes. */
  private static final byte POISON = (byte) 0xA5;

  private ProfileChecks() {}

  /** Skips a device that tells no times of any example, nor of a chain of operations. */
  static void run(Device device, List<Example> examples) throws Exception {
    List<ExecutionProfile> reported = new ArrayList<>();
    Optional<Model> chain = Probes.chain(device, OPERATIONS, ELEMENTS);
    if (chain.isPresent()) {
      chain(device, chain.get()).ifPresent(reported::add);
    }
    for (Example example : examples) {
      Expect.at(
          example.name(),
          () ->
              Probes.prepared(
                  device,
                  example,
                  (prepared, decoded) -> {
                    try (TestRequest request = TestRequest.of(decoded)) {
                      profile(prepared, decoded.model(), request).ifPresent(reported::add);
                    }
                  }));
    }
    if (reported.isEmpty()) {
      throw Expect.skip("the device does not tell how long operations take");
    }
  }

  /** An example may be no work, as one that only reshapes; a chain is. */
  private static Optional<ExecutionProfile> chain(Device device, Model chain)
      throws DeviceException {
    try (PreparedModel prepared = device.prepare(chain, PrepareConfig.DEFAULT);
        TestRequest request = TestRequest.of(chain.main())) {
      request.inputs().segment().fill(INPUT);
      Optional<ExecutionProfile> reported = profile(prepared, chain, request);
      Expect.that(
          reported.isEmpty() || reported.get().nanos().stream().anyMatch(nanos -> nanos > 0),
          "a chain of " + OPERATIONS + " operations took no time");
      return reported;
    }
  }

  private static Optional<ExecutionProfile> profile(
      PreparedModel prepared, Model model, TestRequest request) throws DeviceException {
    request.outputs().segment().fill(POISON);
    final byte[] poisoned = request.allOutputs();
    long start = System.nanoTime();
    Optional<ExecutionProfile> reported = prepared.profile(request.request());
    long took = System.nanoTime() - start;
    byte[] outputs = request.allOutputs();
    if (reported.isEmpty()) {
      Expect.equal(poisoned, outputs, "it tells no times, but wrote outputs");
      return reported;
    }
    // Executed last, so that a profile finds no results of it in the memory of the device.
    request.outputs().segment().fill(POISON);
    Expect.completed("it", prepared.execute(request.request(), ExecutionConfig.DEFAULT));
    Expect.equal(
        request.allOutputs(), outputs, "the outputs of a profile are not those of an execution");
    expectPossible(reported.get(), model.main().operations().size(), took);
    return reported;
  }

  private static void expectPossible(ExecutionProfile profile, int operations, long took) {
    List<Long> nanos = profile.nanos();
    Expect.that(
        nanos.size() == operations,
        "it tells %d times of %d operations".formatted(nanos.size(), operations));
    Expect.that(nanos.stream().allMatch(one -> one >= 0), "a time is negative: " + nanos);
    // No speed is asked for: parts of a call take no longer than the call.
    double sum = nanos.stream().mapToDouble(Long::doubleValue).sum();
    Expect.that(
        sum <= took,
        "operations took %.0f ns together, but the call took %d ns".formatted(sum, took));
    Expect.that(
        isPeak(profile.floatPeak()) && isPeak(profile.bytePeak()),
        "a peak is not a finite number from 0 on: " + profile);
  }

  private static boolean isPeak(double peak) {
    return peak >= 0 && Double.isFinite(peak);
  }
}
