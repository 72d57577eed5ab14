// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.measurement;

import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Costs of steps on a device beside their operations. Immutable.
 *
 * <p>A step with the operations S takes {@code step + byte * bytes(S) + sum of the operations}. The
 * same operations in one step each take {@code |S| * step + byte * sum of bytes + sum of the
 * operations}. The difference knows nothing of the operations: least squares over all steps gives
 * the two costs. The costs known before count a little too, which decides where the steps leave the
 * two undecided.
 *
 * @param stepNanos for a step
 * @param byteNanos for a byte that crosses its boundary
 */
record StepCosts(double stepNanos, double byteNanos) {
  private static final double LEAST_STEP_NANOS = 500;
  private static final double LEAST_BYTE_NANOS = 0.005;
  private static final double PRIOR = 0.01;

  /** A prior of as many bytes for each operation: without it, tensors of one size say nothing. */
  private static final double PRIOR_BYTES = 50_000;

  /** The costs by which the two observations differ least from the rule above. */
  static StepCosts fit(
      List<StepObservation> apart,
      List<StepObservation> together,
      double step,
      double nanosPerByte) {
    Map<String, StepObservation> alone = new HashMap<>();
    apart.forEach(each -> alone.put(each.operations().getFirst().signature(), each));
    double stepStep = PRIOR;
    double stepByte = 0;
    double byteByte = PRIOR * PRIOR_BYTES * PRIOR_BYTES;
    double stepTime = PRIOR * step;
    double byteTime = byteByte * nanosPerByte;
    for (StepObservation whole : together) {
      int more = whole.operations().size() - 1;
      boolean known =
          whole.operations().stream().allMatch(part -> alone.containsKey(part.signature()));
      if (more == 0 || !known) {
        continue;
      }
      double bytes = -whole.bytes();
      double nanos = -whole.nanos();
      for (StepObservation.Part part : whole.operations()) {
        bytes += alone.get(part.signature()).bytes();
        nanos += alone.get(part.signature()).nanos();
      }
      // For each operation, so that one long step does not outweigh all others.
      bytes /= more;
      nanos /= more;
      stepStep += 1;
      stepByte += bytes;
      byteByte += bytes * bytes;
      stepTime += nanos;
      byteTime += bytes * nanos;
    }
    double determinant = stepStep * byteByte - stepByte * stepByte;
    double fittedByte = (stepStep * byteTime - stepByte * stepTime) / determinant;
    // Whatever an operation takes, its step takes no less than the two costs.
    double nanos = Math.clamp(fittedByte, LEAST_BYTE_NANOS, mostForByte(apart));
    double start = (stepTime - stepByte * nanos) / stepStep;
    double most = mostForStep(apart);
    if (start < LEAST_STEP_NANOS || start > most) {
      start = Math.clamp(start, LEAST_STEP_NANOS, most);
      nanos =
          Math.clamp(
              (byteTime - stepByte * start) / byteByte, LEAST_BYTE_NANOS, mostForByte(apart));
    }
    return new StepCosts(start, nanos);
  }

  private static double mostForStep(List<StepObservation> apart) {
    double least = apart.stream().mapToDouble(StepObservation::nanos).min().orElse(0);
    return Math.max(least, LEAST_STEP_NANOS);
  }

  private static double mostForByte(List<StepObservation> apart) {
    double least =
        apart.stream()
            .filter(each -> each.bytes() > 0)
            .mapToDouble(each -> each.nanos() / each.bytes())
            .min()
            .orElse(0);
    return Math.max(least, LEAST_BYTE_NANOS);
  }
}
