// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.kernel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.operations.FusedActivation;
import io.thalamus.operations.Window;
import io.thalamus.x86.Levels;
import io.thalamus.x86.asm.Level;
import io.thalamus.x86.code.ExecutableMemory;
import io.thalamus.x86.code.SystemCalls;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Functions of random shapes against formulas in double. Each argument has just the bytes that the
 * function says it accesses, and ends at a page, or begins behind one, that stops whoever touches
 * it: a wrong extent ends the process.
 */
class GuardedTest {
  private static final int ROUNDS = 150;

  /** Blocks of sums. */
  private static final int MOST_PANELS = 3;

  /** Compares a block of a result with what it should be. */
  @FunctionalInterface
  interface Judge<T> {
    void judge(T source, int block, Guarded read, Guarded written, Guarded other);
  }

  /** Makes the function of a round. */
  @FunctionalInterface
  interface Maker<T> {
    T make(int round, Random random, Emitter emitter);
  }

  /** Tests a function of a few blocks on floats up to 1; see the other one. */
  static <T extends FunctionSource> void rounds(
      Level level, int count, Maker<T> maker, Judge<T> judge) {
    rounds(level, count, 4, 1, maker, judge);
  }

  /**
   * Runs the rounds of a test, of which one that fails is told with the seed.
   *
   * @param most blocks
   * @param magnitude of the floats that are read
   */
  static <T extends FunctionSource> void rounds(
      Level level, int count, int most, float magnitude, Maker<T> maker, Judge<T> judge) {
    Levels.assume(level);
    long seed = Long.getLong("thalamus.seed", 1);
    Random random = new Random(seed);
    for (int i = 0; i < count; i++) {
      Emitter emitter = new Emitter(level);
      T source = maker.make(i, random, emitter);
      try {
        run(emitter, source, 1 + random.nextInt(most), random, magnitude, judge);
      } catch (AssertionError e) {
        throw new AssertionError(
            "round " + i + ", seed " + seed + ": " + source + ": " + e.getMessage(), e);
      }
    }
  }

  private static <T extends FunctionSource> void run(
      Emitter emitter, T source, int blocks, Random random, float magnitude, Judge<T> judge) {
    Function function = source.emit(emitter);
    try (ExecutableMemory code = ExecutableMemory.of(emitter.finish()).orElseThrow();
        Guarded read = Guarded.of(function.read().bytes(blocks), random.nextBoolean());
        Guarded written = Guarded.of(function.written().bytes(blocks), random.nextBoolean());
        Guarded other = Guarded.of(function.other().bytes(blocks), random.nextBoolean())) {
      read.fill(random, magnitude);
      other.fill(random, magnitude);
      written.fill(random, magnitude);
      SystemCalls.call(
          code.at(function.entry()),
          0,
          0,
          read.memory().address(),
          written.memory().address(),
          other.memory().address(),
          blocks);
      for (int block = 0; block < blocks; block++) {
        judge.judge(source, block, read, written, other);
      }
    }
  }

  @ParameterizedTest
  @EnumSource(names = {"AVX2", "AVX512"})
  void pairsComputeWhatTheFormulaSays(Level level) {
    Pair[] all = {Pair.ADD, Pair.SUB, Pair.MUL, Pair.FIRST, Pair.MAXIMUM, Pair.PRELU};
    rounds(
        level,
        ROUNDS,
        (_, random, _) -> {
          Pair pair = all[random.nextInt(all.length)];
          int repeated = pair == Pair.FIRST ? 0 : random.nextInt(3);
          int count = 1 + random.nextInt(70);
          return new Pairs(
              pair,
              count,
              repeated == 1,
              repeated == 2,
              random.nextInt(2) * (count + random.nextInt(3)),
              random.nextInt(2) * (count + random.nextInt(3)),
              activation(random));
        },
        (pairs, block, read, written, other) -> {
          for (int i = 0; i < pairs.count(); i++) {
            int first = block * pairs.firstStep() + (pairs.isFirstRepeated() ? 0 : i);
            int second = block * pairs.secondStep() + (pairs.isSecondRepeated() ? 0 : i);
            double y = pairs.pair() == Pair.FIRST ? 0 : other.get(4L * second);
            double wanted = formula(pairs.pair(), read.get(4L * first), y);
            assertEquals(
                clamp(pairs.activation(), wanted),
                written.get(4L * (block * pairs.count() + i)),
                1e-6);
          }
        });
  }

  private static double formula(Pair pair, double x, double y) {
    return switch (pair) {
      case SUB -> x - y;
      case MUL -> x * y;
      case FIRST -> x;
      case MAXIMUM -> Math.max(x, y);
      case PRELU -> x < 0 ? x * y : x;
      default -> x + y;
    };
  }

  @ParameterizedTest
  @EnumSource(names = {"AVX2", "AVX512"})
  void tapsComputeWhatTheFormulaSays(Level level) {
    rounds(
        level,
        ROUNDS,
        MOST_PANELS,
        1,
        (_, random, emitter) -> taps(emitter, random),
        (taps, block, read, written, panel) -> {
          Area area = taps.area();
          int channels = taps.sums().channels();
          for (int line = 0; line < area.lines(); line++) {
            for (int row = 0; row < area.results(); row++) {
              long from = (long) line * area.lineStep() + (long) row * area.rowStep();
              long to = (long) line * area.resultLineStep() + (long) row * taps.sums().step();
              for (int c = 0; c < channels; c++) {
                double sum = sum(taps, new Emitter(level), block, from, c, read, panel);
                check(taps.sums(), sum, written, to + 4L * (block * channels + c));
              }
            }
          }
        });
  }

  @ParameterizedTest
  @EnumSource(names = {"AVX2", "AVX512"})
  void channelsThatSeeThemselvesAloneComputeWhatTheFormulaSays(Level level) {
    rounds(
        level,
        ROUNDS,
        MOST_PANELS,
        1,
        (_, random, emitter) -> depthwise(emitter, random),
        (depthwise, block, read, written, panel) -> {
          int channels = depthwise.sums().channels();
          for (int i = 0; i < depthwise.lines() * depthwise.results(); i++) {
            for (int c = 0; c < channels; c++) {
              double sum = sum(depthwise, new Emitter(level), block, i, c, read, panel);
              long at = (long) i * depthwise.sums().step() + 4L * (block * channels + c);
              check(depthwise.sums(), sum, written, at);
            }
          }
        });
  }

  private static void check(Sums sums, double sum, Guarded written, long at) {
    double added = sums.finish().isAdded() ? sum + written.was(at) : sum;
    double clamped = clamp(sums.finish().activation(), added);
    double computed = written.get(at);
    assertEquals(
        sums.finish().function().map(kind -> apply(kind, clamped)).orElse(clamped), computed, 1e-4);
  }

  /** Sums for as many panels as a round has at the most. */
  private static Sums sums(Emitter emitter, Random random) {
    int vectors = 1 + random.nextInt(4);
    int channels = vectors * emitter.lanes() - random.nextInt(emitter.lanes());
    Optional<Mapped.Kind> function =
        random.nextInt(3) > 0
            ? Optional.empty()
            : Sums.FUNCTIONS.stream().sorted().skip(random.nextInt(4)).findFirst();
    Finish finish =
        new Finish(
            random.nextBoolean(),
            function.isPresent() ? FusedActivation.NONE : activation(random),
            function);
    return new Sums(finish, vectors, channels, 4 * (MOST_PANELS * channels + random.nextInt(4)));
  }

  private static Taps taps(Emitter emitter, Random random) {
    Sums sums = sums(emitter, random);
    int run = 1 + random.nextInt(9);
    int cell = 4 * run + 4 * random.nextInt(3);
    int most = Sums.mostRows(emitter, sums.vectors());
    int parts = Math.min(1 << random.nextInt(3), Integer.highestOneBit(most));
    int rows = 1 + random.nextInt(most / parts);
    int whole = 1 + random.nextInt(3);
    int less = rows > 1 ? random.nextInt(3) : 0;
    int results = whole * rows + less * (rows - 1);
    Area area =
        new Area(
            1 + random.nextInt(3),
            rows,
            whole,
            less,
            cell * (1 + random.nextInt(2)),
            cell * (1 + random.nextInt(20)),
            sums.step() * (results + random.nextInt(3)));
    return new Taps(
        random.nextBoolean(),
        sums,
        area,
        1 + random.nextInt(3),
        cell * 7,
        1 + random.nextInt(3),
        cell * (1 + random.nextInt(2)),
        run,
        parts);
  }

  /** Filters of all sizes, which may lie outside of the source with any part. */
  private static Depthwise depthwise(Emitter emitter, Random random) {
    Sums sums = sums(emitter, random);
    boolean isLong = random.nextInt(4) == 0;
    int size = isLong ? Depthwise.MOST_TAPS + 1 + random.nextInt(3) : 1 + random.nextInt(5);
    int stride = 1 + random.nextInt(3);
    int dilation = 1 + random.nextInt(2);
    int results = 1 + random.nextInt(20);
    int before = isLong ? 0 : random.nextInt(6);
    int reach = (results - 1) * stride + (size - 1) * dilation + 1;
    int columns = isLong ? reach : Math.max(1, reach - before - random.nextInt(6));
    int cell = 4 * (MOST_PANELS * sums.channels() + random.nextInt(3));
    return new Depthwise(
        random.nextBoolean(),
        sums,
        random.nextInt(3),
        random.nextInt(4),
        random.nextInt(3),
        cell * columns * dilation,
        new Window(size, stride, dilation, before, 0),
        columns,
        1 + random.nextInt(3),
        results,
        cell,
        cell * columns * stride);
  }

  private static double apply(Mapped.Kind function, double x) {
    return switch (function) {
      case LOGISTIC -> 1 / (1 + Math.exp(-x));
      case SWISH -> x / (1 + Math.exp(-x));
      case TANH -> Math.tanh(x);
      default -> x * Math.clamp(x + 3, 0, 6) / 6;
    };
  }

  private static double sum(
      Taps taps, Emitter emitter, int block, long from, int c, Guarded read, Guarded panel) {
    long wide = 4L * taps.sums().vectors() * emitter.lanes();
    long weight = block * (1L + taps.height() * taps.width() * taps.run());
    double sum = panel.get(weight * wide + 4L * c);
    weight++;
    for (int y = 0; y < taps.height(); y++) {
      for (int x = 0; x < taps.width(); x++) {
        for (int k = 0; k < taps.run(); k++) {
          long at = from + (long) y * taps.heightStep() + (long) x * taps.widthStep() + 4L * k;
          sum += read.get(at) * panel.get(weight++ * wide + 4L * c);
        }
      }
    }
    return sum;
  }

  private static double sum(
      Depthwise depthwise, Emitter emitter, int block, int i, int c, Guarded read, Guarded panel) {
    Window width = depthwise.width();
    int line = i / depthwise.results();
    int result = i % depthwise.results();
    long wide = 4L * depthwise.sums().vectors() * emitter.lanes();
    int height = depthwise.above() + depthwise.height() + depthwise.below();
    long first = block * (1 + height * (long) width.size());
    double sum = panel.get(first * wide + 4L * c);
    for (int y = 0; y < depthwise.height(); y++) {
      for (int x = 0; x < width.size(); x++) {
        int column = result * width.stride() - width.before() + x * width.dilation();
        if (column >= 0 && column < depthwise.columns()) {
          long weight = first + 1 + (depthwise.above() + y) * (long) width.size() + x;
          long at =
              (long) line * depthwise.lineStep()
                  + (long) y * depthwise.heightStep()
                  + (long) column * depthwise.cell()
                  + 4L * (block * depthwise.sums().channels() + c);
          sum += read.get(at) * panel.get(weight * wide + 4L * c);
        }
      }
    }
    return sum;
  }

  @Test
  void rowsAreCopiedBetweenZeros() {
    rounds(
        Level.AVX2,
        ROUNDS,
        (_, random, _) ->
            new PaddedRows(
                4 * random.nextInt(5), 4 * (1 + random.nextInt(40)), 4 * random.nextInt(5)),
        (rows, block, read, written, _) -> {
          int row = rows.before() + rows.bytes() + rows.after();
          for (int at = 0; at < row; at += 4) {
            int within = at - rows.before();
            boolean isZero = within < 0 || within >= rows.bytes();
            assertEquals(
                isZero ? 0 : read.get((long) block * rows.bytes() + within),
                written.get((long) block * row + at));
          }
        });
  }

  private static FusedActivation activation(Random random) {
    return FusedActivation.values()[random.nextInt(FusedActivation.values().length)];
  }

  private static double clamp(FusedActivation activation, double value) {
    return Math.min(Math.max(value, activation.range().min()), activation.range().max());
  }

  /** The proof that these tests can fail: a function is given a float less than it accesses. */
  @Test
  void anAccessOutsideOfAnArgumentEndsTheProcess() throws Exception {
    Levels.assume(Level.AVX2);
    Process process =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "--enable-native-access=ALL-UNNAMED",
                "-XX:ErrorFile=/dev/null",
                "-XX:-CreateCoredumpOnCrash",
                "-cp",
                System.getProperty("java.class.path"),
                Overrun.class.getName())
            .redirectErrorStream(true)
            .start();
    String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertTrue(process.waitFor(60, TimeUnit.SECONDS));
    assertTrue(said.contains("SIGSEGV"), said);
    assertNotEquals(0, process.exitValue());
  }

  /** Adds nine floats and one that is not there. */
  static final class Overrun {
    private Overrun() {}

    public static void main(String[] arguments) {
      Emitter emitter = new Emitter(Level.AVX2);
      Pairs pairs = new Pairs(Pair.ADD, 10, false, false, FusedActivation.NONE);
      Function right = pairs.emit(emitter);
      Function wrong =
          new Function(right.entry(), new Extent(9 * 4, 0), right.written(), right.other(), false);
      try (ExecutableMemory code = ExecutableMemory.of(emitter.finish()).orElseThrow();
          Guarded read = Guarded.of(wrong.read().bytes(1), true);
          Guarded written = Guarded.of(wrong.written().bytes(1), true);
          Guarded other = Guarded.of(wrong.other().bytes(1), true)) {
        SystemCalls.call(
            code.at(wrong.entry()),
            0,
            0,
            read.memory().address(),
            written.memory().address(),
            other.memory().address(),
            1);
      }
    }
  }
}
