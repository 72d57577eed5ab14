// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.kernel;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.thalamus.x86.Levels;
import io.thalamus.x86.asm.Level;
import io.thalamus.x86.code.ExecutableMemory;
import io.thalamus.x86.code.SystemCalls;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Boxes chosen by several calls, between pages that nobody may touch, against a walk over all boxes
 * by score and place.
 */
class ChosenBoxesTest {
  private static final int ROUNDS = 200;
  private static final float SCORE = 0.25f;
  private static final float OVERLAP = 0.25f;

  @ParameterizedTest
  @EnumSource(names = {"AVX2", "AVX512"})
  void callsChooseWhatOneWalkChooses(Level level) {
    Levels.assume(level);
    long seed = Long.getLong("thalamus.seed", 1);
    Random random = new Random(seed);
    for (int round = 0; round < ROUNDS; round++) {
      int count = 1 + random.nextInt(90);
      int total = 1 + random.nextInt(random.nextBoolean() ? 5 : count);
      Emitter emitter = new Emitter(level);
      List<Function> calls = new ArrayList<>();
      for (int first = 0; first < total; ) {
        int most = 1 + random.nextInt(total - first);
        calls.add(new ChosenBoxes(count, SCORE, OVERLAP, total, first, most).emit(emitter));
        first += most;
      }
      Function one = calls.getFirst();
      try (ExecutableMemory code = ExecutableMemory.of(emitter.finish()).orElseThrow();
          Guarded low = Guarded.of(one.extent(0).bytes(1), random.nextBoolean());
          Guarded told = Guarded.of(one.extent(1).bytes(1), random.nextBoolean());
          Guarded high = Guarded.of(one.extent(2).bytes(1), random.nextBoolean())) {
        float[] scores = new float[count];
        for (int i = 0; i < 2 * count; i++) {
          float at = random.nextInt(8);
          set(low, i, at);
          set(high, i, at + random.nextInt(4));
        }
        told.fill(random, 1);
        for (int i = 0; i < count; i++) {
          scores[i] = random.nextInt(9) == 0 ? Float.NaN : random.nextInt(5) / 4f;
          set(told, i, scores[i]);
        }
        List<Integer> expected = expected(scores, low, high, total);
        for (Function function : calls) {
          SystemCalls.call(
              code.at(function.entry()),
              0,
              0,
              low.memory().address(),
              told.memory().address(),
              high.memory().address(),
              1);
        }
        String message = "round " + round + ", seed " + seed;
        for (int i = 0; i < total; i++) {
          int at = (ChosenBoxes.chosen(count) + i * ChosenBoxes.BYTES) / Float.BYTES;
          boolean isThere = i < expected.size();
          int box = isThere ? expected.get(i) : 0;
          MemorySegment memory = told.memory();
          int number = ChosenBoxes.NUMBER / Float.BYTES;
          assertEquals(
              box, memory.getAtIndex(ValueLayout.JAVA_INT_UNALIGNED, at + number), message);
          int score = ChosenBoxes.SCORE / Float.BYTES;
          assertEquals(isThere ? scores[box] : 0, get(told, at + score), message);
          for (int corner = 0; corner < 4; corner++) {
            float wanted = get(corner < 2 ? low : high, corner % 2 * count + box);
            assertEquals(isThere ? wanted : 0, get(told, at + corner), message);
          }
        }
      }
    }
  }

  private static List<Integer> expected(float[] scores, Guarded low, Guarded high, int most) {
    int count = scores.length;
    List<Integer> chosen = new ArrayList<>();
    IntStream.range(0, count)
        .boxed()
        .filter(box -> scores[box] > SCORE)
        .sorted(Comparator.comparing((Integer box) -> -scores[box]).thenComparing(box -> box))
        .filter(
            box ->
                chosen.size() < most
                    && chosen.stream()
                        .noneMatch(other -> overlap(low, high, count, box, other) >= OVERLAP))
        .forEachOrdered(chosen::add);
    return chosen;
  }

  /** NaN for two empty boxes, which is no overlap. */
  private static double overlap(Guarded low, Guarded high, int count, int a, int b) {
    double common = 1;
    double areaA = 1;
    double areaB = 1;
    for (int axis = 0; axis < 2 * count; axis += count) {
      double from = Math.max(get(low, axis + a), get(low, axis + b));
      double to = Math.min(get(high, axis + a), get(high, axis + b));
      common *= Math.max(0, to - from);
      areaA *= get(high, axis + a) - get(low, axis + a);
      areaB *= get(high, axis + b) - get(low, axis + b);
    }
    return common / (areaA + areaB - common);
  }

  private static float get(Guarded memory, long index) {
    return memory.memory().getAtIndex(ValueLayout.JAVA_FLOAT_UNALIGNED, index);
  }

  private static void set(Guarded memory, long index, float value) {
    memory.memory().setAtIndex(ValueLayout.JAVA_FLOAT_UNALIGNED, index, value);
  }
}
