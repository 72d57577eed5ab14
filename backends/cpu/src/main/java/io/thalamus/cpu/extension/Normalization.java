// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cpu.extension;

import io.thalamus.driver.Kernel;
import io.thalamus.driver.KernelTable;
import io.thalamus.model.Elements;
import io.thalamus.model.Shape;
import io.thalamus.operations.Broadcast;
import io.thalamus.operations.ResolvedOperation;
import io.thalamus.operations.extension.Normalization.Groups;
import io.thalamus.operations.extension.ThalamusExtension;
import java.lang.foreign.MemorySegment;

/** Values brought to mean 0 and variance 1, in double, rounded once. */
final class Normalization {
  private Normalization() {}

  static void register(KernelTable.Builder table) {
    table.floats(ThalamusExtension.LAYER_NORMALIZATION, Normalization::layer);
  }

  private static Kernel layer(ResolvedOperation operation) {
    Groups groups = operation.parameters(Groups.class);
    Elements elements = Elements.of(operation.view().output().type());
    Repeated scale = Repeated.of(operation, 1);
    Repeated bias = operation.view().has(2) ? Repeated.of(operation, 2) : null;
    return (in, out, scratch, work) -> {
      int size = groups.groupSize();
      for (int group = 0; group < groups.groups(); group++) {
        work.done(3L * size);
        long first = (long) group * size;
        double mean = 0;
        for (long i = first; i < first + size; i++) {
          mean += elements.getFloat(in[0], i);
        }
        mean /= size;
        double variance = 0;
        for (long i = first; i < first + size; i++) {
          double distance = elements.getFloat(in[0], i) - mean;
          variance += distance * distance;
        }
        double factor = 1 / Math.sqrt(variance / size + groups.epsilon());
        for (long i = first; i < first + size; i++) {
          double value = (elements.getFloat(in[0], i) - mean) * factor;
          value *= scale.get(elements, in[1], i);
          value += bias == null ? 0 : bias.get(elements, in[2], i);
          elements.setFloat(out[0], i, (float) value);
        }
      }
    };
  }

  /** An operand that is repeated to the shape of the data. */
  private record Repeated(int[] dimensions, int[] strides) {
    static Repeated of(ResolvedOperation operation, int input) {
      Shape data = operation.inputShape(0);
      return new Repeated(data.toArray(), Broadcast.strides(operation.inputShape(input), data));
    }

    /** The element beside the one at an index of the data. */
    float get(Elements elements, MemorySegment segment, long index) {
      long at = 0;
      long rest = index;
      for (int i = dimensions.length - 1; i >= 0; i--) {
        at += rest % dimensions[i] * strides[i];
        rest /= dimensions[i];
      }
      return elements.getFloat(segment, at);
    }
  }
}
