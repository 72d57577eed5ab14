// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cpu;

import io.thalamus.driver.Kernel;
import io.thalamus.driver.KernelTable;
import io.thalamus.model.Elements;
import io.thalamus.model.OperationCode;
import io.thalamus.model.reader.Philox;
import io.thalamus.operations.RandomMultinomial.Parameters;
import io.thalamus.operations.ResolvedOperation;
import java.lang.foreign.MemorySegment;
import java.util.SplittableRandom;

/** RANDOM_MULTINOMIAL. Two seeds of 0 ask for other numbers in each execution. */
final class RandomMultinomial {
  private RandomMultinomial() {}

  static void register(KernelTable.Builder table) {
    table.floats(OperationCode.RANDOM_MULTINOMIAL, RandomMultinomial::kernel);
  }

  private static Kernel kernel(ResolvedOperation operation) {
    Parameters parameters = operation.parameters(Parameters.class);
    Elements elements = Elements.of(operation.view().input(0).type());
    int classes = parameters.classes();
    return (inputs, outputs, scratch, work) -> {
      Philox random = random(inputs[2]);
      double[] sums = new double[classes];
      for (int b = 0; b < parameters.batches(); b++) {
        accumulate(elements, inputs[0], (long) b * classes, sums);
        for (int s = 0; s < parameters.samples(); s++) {
          work.done(classes);
          double target = random.nextDouble() * sums[classes - 1];
          int chosen = 0;
          while (chosen < classes - 1 && sums[chosen] <= target) {
            chosen++;
          }
          Elements.INT32.setInt(outputs[0], (long) b * parameters.samples() + s, chosen);
        }
      }
    };
  }

  private static Philox random(MemorySegment seeds) {
    int seed = Elements.INT32.getInt(seeds, 0);
    int seed2 = Elements.INT32.getInt(seeds, 1);
    if (seed == 0 && seed2 == 0) {
      SplittableRandom chance = new SplittableRandom();
      return new Philox(chance.nextLong(), chance.nextLong());
    }
    return new Philox(seed, seed2);
  }

  /** The sums of the probabilities up to each class; what is not finite has none. */
  private static void accumulate(
      Elements elements, MemorySegment logits, long first, double[] sums) {
    float largest = -Float.MAX_VALUE;
    for (int c = 0; c < sums.length; c++) {
      float logit = elements.getFloat(logits, first + c);
      if (Float.isFinite(logit)) {
        largest = Math.max(largest, logit);
      }
    }
    double sum = 0;
    for (int c = 0; c < sums.length; c++) {
      float logit = elements.getFloat(logits, first + c);
      if (Float.isFinite(logit)) {
        sum += Math.exp((double) logit - largest);
      }
      sums[c] = sum;
    }
  }
}
