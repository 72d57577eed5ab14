// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu.compile;

import io.thalamus.npu.command.Command;
import io.thalamus.npu.machine.Architecture;
import io.thalamus.npu.machine.Timeline;
import io.thalamus.npu.timing.OperatingPoint;
import java.nio.IntBuffer;
import java.util.HashSet;
import java.util.Optional;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.function.BooleanSupplier;

/**
 * Chooses tilings by the cycles that their commands would take. The tilings that are tried, one
 * drawn at random and one near the best so far in turn, are a sequence of their own for each layer
 * and seed; a larger budget goes further along the same sequence, so that it never finds less.
 * Immutable and thread-safe.
 */
record Search(Architecture architecture, OperatingPoint point, long seed) {
  /** Tilings of more commands than these are tiny tiles, which never pay. */
  private static final long MOST_COMMANDS = 1 << 14;

  /** Draws that may fail, because nothing new fits, for each one that counts. */
  private static final int PATIENCE = 20;

  /**
   * A tiling without a search: as large tiles as fit, each axis cut down as far as it must be,
   * those in front first. Empty where none fits.
   */
  static Optional<int[]> quick(LoopNest<?> layer) {
    int[][] choices = layer.choices();
    int[] tiling = new int[choices.length];
    for (int axis = 0; axis < choices.length; axis++) {
      while (!layer.fits(tiling) && tiling[axis] + 1 < choices[axis].length) {
        tiling[axis]++;
      }
    }
    return layer.fits(tiling) ? Optional.of(tiling) : Optional.empty();
  }

  /**
   * The best tiling among a number of them.
   *
   * @param start where to begin
   * @param index of the layer in its model
   * @param budget tilings that are tried
   * @param isStopped asked between two; then the best so far is the result
   */
  int[] best(LoopNest<?> layer, int[] start, int index, int budget, BooleanSupplier isStopped) {
    int[][] choices = layer.choices();
    long all = 1;
    for (int[] values : choices) {
      all = Math.min(Integer.MAX_VALUE, all * values.length);
    }
    SplittableRandom random = new SplittableRandom(seed * 31 + index);
    // Buffers are equal where their numbers are.
    Set<IntBuffer> seen = new HashSet<>();
    seen.add(IntBuffer.wrap(start));
    int[] best = start;
    long fewest = cycles(layer, start);
    int tried = 0;
    for (long draw = 0;
        tried < budget && seen.size() < all && draw < (long) PATIENCE * budget;
        draw++) {
      int[] next = (draw & 1) == 0 ? any(choices, random) : near(best, choices, random);
      if (!seen.add(IntBuffer.wrap(next))
          || !layer.fits(next)
          || layer.commands(next) > MOST_COMMANDS) {
        continue;
      }
      if (isStopped.getAsBoolean()) {
        break;
      }
      tried++;
      long cycles = cycles(layer, next);
      if (cycles < fewest) {
        fewest = cycles;
        best = next;
      }
    }
    return best;
  }

  private static int[] any(int[][] choices, SplittableRandom random) {
    int[] tiling = new int[choices.length];
    for (int i = 0; i < tiling.length; i++) {
      tiling[i] = random.nextInt(choices[i].length);
    }
    return tiling;
  }

  /** One axis moved a step or to any place, sometimes a second one. */
  private static int[] near(int[] best, int[][] choices, SplittableRandom random) {
    int[] tiling = best.clone();
    for (int moves = 1 + random.nextInt(2); moves > 0; moves--) {
      int axis = random.nextInt(choices.length);
      int step = random.nextInt(3) - 1;
      tiling[axis] =
          step == 0
              ? random.nextInt(choices[axis].length)
              : Math.clamp(tiling[axis] + step, 0, choices[axis].length - 1);
    }
    return tiling;
  }

  /** The cycles of a layer's commands. */
  long cycles(LoopNest<?> layer, int[] tiling) {
    Timeline timeline = new Timeline(architecture, point);
    layer.emit(
        tiling,
        new Emitter() {
          @Override
          public void add(Command command) {
            timeline.issue(command);
          }

          @Override
          public int address(Constant constant) {
            return 0;
          }
        });
    return timeline.cycles();
  }
}
