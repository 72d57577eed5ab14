// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.reference;

import io.thalamus.operations.extension.ThalamusExtension;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.function.IntPredicate;
import java.util.stream.IntStream;

/** Operations of the extension that give as many elements as they find. */
final class Searches {
  private static final int CORNERS = 4;

  /** Overlaps in float32 that are nearer to a limit than this may be on either side of it. */
  private static final double NEAR = 1e-5;

  private Searches() {}

  static void register(Map<String, Formula> formulas) {
    formulas.put(Evaluator.name(ThalamusExtension.NON_ZERO), Formula.single(Searches::nonZero));
    formulas.put(Evaluator.name(ThalamusExtension.UNIQUE), Searches::unique);
    formulas.put(
        Evaluator.name(ThalamusExtension.NON_MAX_SUPPRESSION),
        Formula.single(Searches::suppression));
  }

  private static UnsupportedOperationException undecided() {
    return new UnsupportedOperationException("a choice between values known within bounds only");
  }

  private static Bounds stored(List<Integer> numbers) {
    return Bounds.exact(numbers.stream().mapToDouble(Integer::doubleValue).toArray());
  }

  private static Result nonZero(Call call) {
    Bounds real = call.in(0).real();
    int[] shape = call.in(0).shape();
    List<int[]> found = new ArrayList<>();
    int[] position = new int[shape.length];
    for (int i = 0; i < real.size(); i++) {
      if (real.low()[i] > 0 || real.high()[i] < 0) {
        found.add(position.clone());
      } else if (!real.isExact(i)) {
        throw undecided();
      }
      Movements.advance(position, shape);
    }
    boolean isByAxis = call.bool(1, false);
    int rank = shape.length;
    int count = found.size();
    double[] places = new double[count * rank];
    for (int i = 0; i < count; i++) {
      for (int axis = 0; axis < rank; axis++) {
        places[isByAxis ? axis * count + i : i * rank + axis] = found.get(i)[axis];
      }
    }
    return Result.exact(
        isByAxis ? new int[] {rank, count} : new int[] {count, rank}, Bounds.exact(places));
  }

  private static List<Result> unique(Call call) {
    Bounds real = call.in(0).real();
    List<Integer> firsts = new ArrayList<>();
    for (int i = 0; i < real.size(); i++) {
      int element = i;
      if (firsts.stream().noneMatch(first -> isSame(real, first, element))) {
        firsts.add(i);
      }
    }
    if (call.bool(1, false)) {
      firsts.sort(Comparator.comparingDouble(first -> real.middle()[first]));
    }
    double[] inverse = new double[real.size()];
    double[] counts = new double[firsts.size()];
    Bounds values = Bounds.empty(firsts.size());
    for (int i = 0; i < inverse.length; i++) {
      int element = i;
      IntPredicate isIt = group -> isSame(real, firsts.get(group), element);
      int group = IntStream.range(0, firsts.size()).filter(isIt).findFirst().orElseThrow();
      inverse[i] = group;
      counts[group]++;
      values.copy(group, real, firsts.get(group));
    }
    int[] found = {firsts.size()};
    return List.of(
        Result.exact(found, values),
        Result.exact(found, stored(firsts)),
        Result.exact(call.in(0).shape(), Bounds.exact(inverse)),
        Result.exact(found, Bounds.exact(counts)));
  }

  private static boolean isSame(Bounds real, int a, int b) {
    boolean isApart = real.high()[a] < real.low()[b] || real.high()[b] < real.low()[a];
    if (a != b && !isApart && !(real.isExact(a) && real.isExact(b))) {
      throw undecided();
    }
    return !isApart;
  }

  private static Result suppression(Call call) {
    int[] shape = call.in(1).shape();
    List<Integer> chosen = new ArrayList<>();
    for (int image = 0; image < shape[0]; image++) {
      for (int label = 0; label < shape[1]; label++) {
        for (int box : best(call, image, label)) {
          chosen.addAll(List.of(image, label, box));
        }
      }
    }
    return Result.exact(new int[] {chosen.size() / 3, 3}, stored(chosen));
  }

  private static List<Integer> best(Call call, int image, int label) {
    int[] shape = call.in(1).shape();
    int boxes = shape[2];
    double[] scores = exact(call.in(1), (image * shape[1] + label) * boxes, boxes);
    double least = call.number(4);
    List<Integer> order =
        IntStream.range(0, boxes)
            .filter(box -> scores[box] > least)
            .boxed()
            .sorted(Comparator.comparingDouble((Integer box) -> scores[box]).reversed())
            .toList();
    List<Integer> kept = new ArrayList<>();
    for (int box : order) {
      if (kept.size() < call.int32(2)
          && kept.stream().noneMatch(other -> isOver(call, image, box, other))) {
        kept.add(box);
      }
    }
    return kept;
  }

  private static boolean isOver(Call call, int image, int first, int second) {
    double[] a = corners(call, image, first);
    double[] b = corners(call, image, second);
    double both = 1;
    double areaA = 1;
    double areaB = 1;
    for (int axis = 0; axis < 2; axis++) {
      areaA *= a[axis + 2] - a[axis];
      areaB *= b[axis + 2] - b[axis];
      both *= Math.max(Math.min(a[axis + 2], b[axis + 2]) - Math.max(a[axis], b[axis]), 0);
    }
    double over = areaA > 0 && areaB > 0 ? both / (areaA + areaB - both) : 0;
    if (Math.abs(over - call.number(3)) < NEAR) {
      throw undecided();
    }
    return over > call.number(3);
  }

  /** The least coordinates of a box, then the largest. */
  private static double[] corners(Call call, int image, int box) {
    double[] given = exact(call.in(0), (image * call.in(0).shape()[1] + box) * CORNERS, CORNERS);
    double[] corners = new double[CORNERS];
    for (int axis = 0; axis < 2; axis++) {
      double one = given[axis];
      double other = given[axis + 2];
      boolean isCentered = call.bool(5, false);
      corners[axis] = isCentered ? one - other / 2 : Math.min(one, other);
      corners[axis + 2] = isCentered ? one + other / 2 : Math.max(one, other);
    }
    return corners;
  }

  private static double[] exact(Tensor tensor, int from, int count) {
    if (!IntStream.range(from, from + count).allMatch(tensor.real()::isExact)) {
      throw undecided();
    }
    return Arrays.copyOfRange(tensor.real().middle(), from, from + count);
  }
}
