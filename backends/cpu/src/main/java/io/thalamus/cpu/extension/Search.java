// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cpu.extension;

import static io.thalamus.model.OperandCode.TENSOR_BOOL8;
import static io.thalamus.model.OperandCode.TENSOR_FLOAT32;
import static io.thalamus.model.OperandCode.TENSOR_INT32;

import io.thalamus.driver.Kernel;
import io.thalamus.driver.KernelTable;
import io.thalamus.driver.WorkMeter;
import io.thalamus.model.Elements;
import io.thalamus.model.Shape;
import io.thalamus.operations.OperationView;
import io.thalamus.operations.ResolvedOperation;
import io.thalamus.operations.extension.Search.PlaceParameters;
import io.thalamus.operations.extension.Search.SuppressionParameters;
import io.thalamus.operations.extension.Search.UniqueParameters;
import io.thalamus.operations.extension.ThalamusExtension;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.List;

/** Operations whose outputs are as long as what they find. */
final class Search {
  private static final int CORNERS = 4;

  private Search() {}

  static void register(KernelTable.Builder table) {
    table
        .add(ThalamusExtension.NON_ZERO, NonZero::new, TENSOR_FLOAT32, TENSOR_INT32, TENSOR_BOOL8)
        .add(ThalamusExtension.UNIQUE, Unique::new, TENSOR_FLOAT32, TENSOR_INT32)
        .add(ThalamusExtension.NON_MAX_SUPPRESSION, Suppression::new, TENSOR_FLOAT32);
  }

  /** The indexes of elements other than 0, in the order of these. */
  private static final class NonZero implements Kernel {
    private final Elements elements;
    private final int[] dimensions;
    private final int count;
    private final boolean isByAxis;

    NonZero(ResolvedOperation operation) {
      OperationView view = operation.view();
      elements = Elements.of(view.input(0).type());
      dimensions = view.input(0).shape().toArray();
      count = Math.toIntExact(view.input(0).shape().elementCount());
      isByAxis = operation.parameters(PlaceParameters.class).isByAxis();
    }

    @Override
    public List<Shape> measure(MemorySegment[] inputs, MemorySegment scratch, WorkMeter work) {
      int found = found(inputs[0], work);
      int rank = dimensions.length;
      return List.of(isByAxis ? Shape.of(rank, found) : Shape.of(found, rank));
    }

    private int found(MemorySegment input, WorkMeter work) {
      int found = 0;
      for (int i = 0; i < count; i++) {
        work.done(1);
        found += elements.getDouble(input, i) != 0 ? 1 : 0;
      }
      return found;
    }

    @Override
    public void run(
        MemorySegment[] inputs, MemorySegment[] outputs, MemorySegment scratch, WorkMeter work) {
      int rank = dimensions.length;
      long element = isByAxis ? 1 : rank;
      long axisStep = isByAxis ? found(inputs[0], work) : 1;
      long next = 0;
      for (int i = 0; i < count; i++) {
        work.done(1);
        if (elements.getDouble(inputs[0], i) != 0) {
          int rest = i;
          for (int axis = rank - 1; axis >= 0; axis--) {
            Elements.INT32.setInt(outputs[0], next + axis * axisStep, rest % dimensions[axis]);
            rest /= dimensions[axis];
          }
          next += element;
        }
      }
    }
  }

  /** Scratch memory: the number of groups of equal elements, then for each element its group. */
  private static final class Unique implements Kernel {
    private final Elements elements;
    private final boolean isSorted;
    private final int count;

    Unique(ResolvedOperation operation) {
      OperationView view = operation.view();
      elements = Elements.of(view.input(0).type());
      isSorted = operation.parameters(UniqueParameters.class).isSorted();
      count = view.input(0).shape().dimension(0);
    }

    @Override
    public long scratchSize() {
      return Integer.BYTES * (1L + count);
    }

    @Override
    public List<Shape> measure(MemorySegment[] inputs, MemorySegment scratch, WorkMeter work) {
      work.done(4L * count);
      double[] numbers = new double[count];
      Integer[] order = new Integer[count];
      for (int i = 0; i < count; i++) {
        // The sum makes one zero of two.
        numbers[i] = elements.getDouble(inputs[0], i) + 0.0;
        order[i] = i;
      }
      Arrays.sort(order, (a, b) -> Double.compare(numbers[a], numbers[b]));
      int groups = 0;
      int[] groupOf = new int[count];
      int[] firstOf = new int[count];
      for (int i = 0; i < count; i++) {
        boolean isNew = i == 0 || Double.compare(numbers[order[i]], numbers[order[i - 1]]) != 0;
        if (isNew) {
          firstOf[groups++] = order[i];
        }
        groupOf[order[i]] = groups - 1;
      }
      if (!isSorted) {
        renumber(groupOf, firstOf, groups);
      }
      Elements.INT32.setInt(scratch, 0, groups);
      for (int i = 0; i < count; i++) {
        Elements.INT32.setInt(scratch, 1L + i, groupOf[i]);
      }
      Shape found = Shape.of(groups);
      return List.of(found, found, Shape.of(count), found);
    }

    /** Numbers groups by the place of their first element, which the sort has kept first. */
    private static void renumber(int[] groupOf, int[] firstOf, int groups) {
      int[] numbers = new int[groups];
      int next = 0;
      for (int i = 0; i < groupOf.length; i++) {
        if (firstOf[groupOf[i]] == i) {
          numbers[groupOf[i]] = next++;
        }
      }
      for (int i = 0; i < groupOf.length; i++) {
        groupOf[i] = numbers[groupOf[i]];
      }
    }

    @Override
    public void run(
        MemorySegment[] inputs, MemorySegment[] outputs, MemorySegment scratch, WorkMeter work) {
      work.done(2L * count);
      Elements integers = Elements.INT32;
      int groups = integers.getInt(scratch, 0);
      for (int i = 0; i < groups; i++) {
        integers.setInt(outputs[3], i, 0);
      }
      for (int i = 0; i < count; i++) {
        int group = integers.getInt(scratch, 1L + i);
        integers.setInt(outputs[2], i, group);
        int seen = integers.getInt(outputs[3], group);
        if (seen == 0) {
          elements.setDouble(outputs[0], group, elements.getDouble(inputs[0], i));
          integers.setInt(outputs[1], group, i);
        }
        integers.setInt(outputs[3], group, seen + 1);
      }
    }
  }

  /**
   * Scratch memory: the number of boxes that are left, then for each its image, class and place.
   */
  private static final class Suppression implements Kernel {
    private static final int NUMBERS = 3;

    private final SuppressionParameters parameters;

    Suppression(ResolvedOperation operation) {
      parameters = operation.parameters(SuppressionParameters.class);
    }

    @Override
    public long scratchSize() {
      long scores = (long) parameters.images() * parameters.classes() * parameters.boxes();
      return Integer.BYTES * (1 + NUMBERS * scores);
    }

    @Override
    public List<Shape> measure(MemorySegment[] inputs, MemorySegment scratch, WorkMeter work) {
      int most = Elements.INT32.getInt(inputs[2], 0);
      float overlap = Elements.FLOAT32.getFloat(inputs[3], 0);
      float least = Elements.FLOAT32.getFloat(inputs[4], 0);
      int found = 0;
      float[] corners = new float[parameters.boxes() * CORNERS];
      int[] kept = new int[parameters.boxes()];
      for (int image = 0; image < parameters.images(); image++) {
        load(inputs[0], image, corners);
        for (int label = 0; label < parameters.classes(); label++) {
          int left = best(inputs[1], image * parameters.classes() + label, least, kept, work);
          left = suppress(corners, kept, left, most, overlap, work);
          for (int i = 0; i < left; i++) {
            long at = 1 + (long) NUMBERS * found++;
            Elements.INT32.setInt(scratch, at, image);
            Elements.INT32.setInt(scratch, at + 1, label);
            Elements.INT32.setInt(scratch, at + 2, kept[i]);
          }
        }
      }
      Elements.INT32.setInt(scratch, 0, found);
      return List.of(Shape.of(found, NUMBERS));
    }

    /** The boxes of an image by their least and largest coordinates. */
    private void load(MemorySegment boxes, int image, float[] corners) {
      for (int box = 0; box < parameters.boxes(); box++) {
        long from = ((long) image * parameters.boxes() + box) * CORNERS;
        for (int axis = 0; axis < 2; axis++) {
          float first = Elements.FLOAT32.getFloat(boxes, from + axis);
          float second = Elements.FLOAT32.getFloat(boxes, from + 2 + axis);
          float low = parameters.isCentered() ? first - second / 2 : Math.min(first, second);
          float high = parameters.isCentered() ? first + second / 2 : Math.max(first, second);
          corners[box * CORNERS + axis] = low;
          corners[box * CORNERS + 2 + axis] = high;
        }
      }
    }

    /** The boxes with scores above the least, best first; of equals that which stands first. */
    private int best(MemorySegment scores, int row, float least, int[] kept, WorkMeter work) {
      int boxes = parameters.boxes();
      work.done(2L * boxes);
      Integer[] order = new Integer[boxes];
      float[] numbers = new float[boxes];
      int count = 0;
      for (int box = 0; box < boxes; box++) {
        numbers[box] = Elements.FLOAT32.getFloat(scores, (long) row * boxes + box);
        if (numbers[box] > least) {
          order[count++] = box;
        }
      }
      Arrays.sort(order, 0, count, (a, b) -> Float.compare(numbers[b], numbers[a]));
      for (int i = 0; i < count; i++) {
        kept[i] = order[i];
      }
      return count;
    }

    private static int suppress(
        float[] corners, int[] kept, int count, int most, float threshold, WorkMeter work) {
      int left = 0;
      for (int i = 0; i < count && left < most; i++) {
        work.done(1L + left);
        boolean isFree = true;
        for (int k = 0; k < left && isFree; k++) {
          isFree = overlap(corners, kept[i] * CORNERS, kept[k] * CORNERS) <= threshold;
        }
        if (isFree) {
          kept[left++] = kept[i];
        }
      }
      return left;
    }

    /** The intersection of two boxes by their union; 0 where either has no area. */
    private static float overlap(float[] corners, int a, int b) {
      float areaA = (corners[a + 2] - corners[a]) * (corners[a + 3] - corners[a + 1]);
      float areaB = (corners[b + 2] - corners[b]) * (corners[b + 3] - corners[b + 1]);
      float height = Math.min(corners[a + 2], corners[b + 2]) - Math.max(corners[a], corners[b]);
      float width =
          Math.min(corners[a + 3], corners[b + 3]) - Math.max(corners[a + 1], corners[b + 1]);
      float common = Math.max(height, 0) * Math.max(width, 0);
      return areaA <= 0 || areaB <= 0 ? 0 : common / (areaA + areaB - common);
    }

    @Override
    public void run(
        MemorySegment[] inputs, MemorySegment[] outputs, MemorySegment scratch, WorkMeter work) {
      int found = Elements.INT32.getInt(scratch, 0);
      MemorySegment.copy(
          scratch, Integer.BYTES, outputs[0], 0, (long) found * NUMBERS * Integer.BYTES);
    }
  }
}
