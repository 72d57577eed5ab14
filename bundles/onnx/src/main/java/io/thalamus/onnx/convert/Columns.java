// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx.convert;

import io.thalamus.onnx.convert.Ops.Reduction;
import io.thalamus.onnx.file.DataType;
import io.thalamus.onnx.fold.Dims;
import java.util.Arrays;
import java.util.List;

/** Col2Im: an image of the columns that blocks of it make, whose overlaps are added. */
final class Columns {
  private Columns() {}

  static void addTo(Converters table) {
    table.add("Col2Im", Columns::convert);
  }

  private static void convert(Node node) {
    Ops ops = node.ops();
    Value data = node.in(0);
    int[] image = node.ints(1);
    int[] block = node.ints(2);
    int rank = image.length;
    int[] dilations = node.list("dilations", rank, 1);
    int[] pads = node.list("pads", 2 * rank, 0);
    int[] strides = node.list("strides", rank, 1);
    node.require(
        data.rank() == 3
            && block.length == rank
            && positive(image)
            && positive(block)
            && positive(dilations)
            && positive(strides),
        "its columns are " + data.text() + ", its image " + Dims.text(image));
    int[] steps = new int[rank];
    for (int i = 0; i < rank; i++) {
      int reach = dilations[i] * (block[i] - 1);
      steps[i] = (image[i] + pads[i] + pads[rank + i] - reach - 1) / strides[i] + 1;
    }
    int places = Dims.count(block);
    node.require(
        positive(steps) && data.dim(2) == Dims.count(steps) && data.dim(1) % places == 0,
        "its columns " + data.text() + " do not fit its image " + Dims.text(image));
    int planes = data.dim(0) * (data.dim(1) / places);
    int[] sources = sources(ops, image, block, steps, dilations, pads, strides);
    Value rows = ops.reshape(data, planes, places * data.dim(2));
    Value none = ops.fill(data.type(), new int[] {planes, 1}, 0);
    int count = Dims.count(image);
    int depth = sources.length / count;
    Value index = ops.constant(DataType.INT64, new int[] {sources.length}, reals(ops, sources));
    Value taken = ops.gather(ops.concat(List.of(rows, none), 1), 1, index);
    Value sum =
        depth == 1 ? taken : ops.reduce(Reduction.SUM, ops.reshape(taken, planes, count, depth), 2);
    node.out(ops.reshape(sum, Dims.join(new int[] {data.dim(0), data.dim(1) / places}, image)));
  }

  private static boolean positive(int... numbers) {
    return Arrays.stream(numbers).allMatch(number -> number > 0);
  }

  private static double[] reals(Ops ops, int[] numbers) {
    double[] reals = ops.budget().doubles(numbers.length);
    Arrays.setAll(reals, i -> numbers[i]);
    return reals;
  }

  /**
   * For each element of the image the places in the columns that are added, else that of a zero.
   */
  private static int[] sources(
      Ops ops, int[] image, int[] block, int[] steps, int[] dilations, int[] pads, int[] strides) {
    int places = Dims.count(block);
    int columns = Dims.count(steps);
    int total = Math.multiplyExact(places, columns);
    int[] targets = ops.budget().ints(total);
    int[] counts = ops.budget().ints(Dims.count(image));
    int depth = 1;
    for (int i = 0; i < total; i++) {
      targets[i] = target(i / columns, i % columns, image, block, steps, dilations, pads, strides);
      if (targets[i] >= 0) {
        depth = Math.max(depth, ++counts[targets[i]]);
      }
    }
    int[] sources = ops.budget().ints(Math.multiplyExact(counts.length, depth));
    Arrays.fill(sources, total);
    Arrays.fill(counts, 0);
    for (int i = 0; i < total; i++) {
      if (targets[i] >= 0) {
        sources[targets[i] * depth + counts[targets[i]]++] = i;
      }
    }
    return sources;
  }

  /**
   * The element of the image for a place of a block and a column; -1 where it is in the padding.
   */
  private static int target(
      int place,
      int column,
      int[] image,
      int[] block,
      int[] steps,
      int[] dilations,
      int[] pads,
      int[] strides) {
    int target = 0;
    int factor = 1;
    int restOfPlace = place;
    int restOfColumn = column;
    for (int i = image.length - 1; i >= 0; i--) {
      int at =
          restOfColumn % steps[i] * strides[i] + restOfPlace % block[i] * dilations[i] - pads[i];
      if (at < 0 || at >= image[i]) {
        return -1;
      }
      target += at * factor;
      factor *= image[i];
      restOfPlace /= block[i];
      restOfColumn /= steps[i];
    }
    return target;
  }
}
