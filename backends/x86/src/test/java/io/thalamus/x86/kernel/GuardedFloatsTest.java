// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.kernel;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.thalamus.operations.FusedActivation;
import io.thalamus.x86.asm.Level;
import io.thalamus.x86.kernel.LstmCells.Part;
import io.thalamus.x86.kernel.ResizedLine.Column;
import io.thalamus.x86.kernel.ResizedLine.Way;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** Functions of random shapes between pages that nobody may touch, against formulas in double. */
class GuardedFloatsTest {
  private static final int ROUNDS = 100;

  @ParameterizedTest
  @CsvSource({"AVX2, 1", "AVX2, 100", "AVX512, 1", "AVX512, 100"})
  void singleFloatsAreMapped(Level level, float magnitude) {
    Mapped.Kind[] kinds = ofFloats(Mapped.Kind.values()).toArray(Mapped.Kind[]::new);
    GuardedTest.rounds(
        level,
        ROUNDS,
        1,
        magnitude,
        (round, random, _) -> new Mapped(kinds[round % kinds.length], 1 + random.nextInt(70), 1.5f),
        (mapped, _, read, written, _) -> {
          for (int i = 0; i < mapped.count(); i++) {
            double wanted = formula(mapped.kind(), read.get(4L * i));
            assertEquals(
                wanted,
                written.get(4L * i),
                Double.isNaN(wanted) ? 0 : 1e-6 * Math.max(1, Math.abs(wanted)));
          }
        });
  }

  /** Operations on integers are compared with the reference, in graphs. */
  private static <E extends Enum<E>> List<E> ofFloats(E[] all) {
    return Arrays.stream(all).filter(one -> !one.name().matches("INT_.*|.*_OF_ORDER")).toList();
  }

  private static double formula(Mapped.Kind kind, double x) {
    return switch (kind) {
      case SQUARE -> x * x;
      case CUBE -> x * x * x;
      case LOGISTIC -> 1 / (1 + Math.exp(-x));
      case SWISH -> x / (1 + Math.exp(-x));
      case TANH -> Math.tanh(x);
      case HARD_SWISH -> x * Math.clamp(x + 3, 0, 6) / 6;
      case ABS -> Math.abs(x);
      case NEG -> -x;
      case SQRT -> Math.sqrt(x);
      case RSQRT -> 1 / Math.sqrt(x);
      case EXP -> (float) Math.exp(x);
      case LOG -> Math.log(x);
      case SIN -> Math.sin(x);
      case FLOOR -> Math.floor(x);
      case ERF -> erf(x);
      case ELU -> x < 0 ? 1.5 * Math.expm1(x) : x;
      case INT_ABS, INT_NEG, INT_OF_ORDER, FLOAT_OF_ORDER ->
          throw new IllegalArgumentException(kind + " is of integers");
    };
  }

  /** The integral by Simpson's rule. */
  private static double erf(double x) {
    int steps = 2000;
    double width = Math.clamp(x, -6, 6) / steps;
    double sum = 0;
    for (int i = 0; i <= steps; i++) {
      int weight = i == 0 || i == steps ? 1 : i % 2 == 0 ? 2 : 4;
      sum += weight * Math.exp(-i * width * i * width);
    }
    return 2 / Math.sqrt(Math.PI) * sum * width / 3;
  }

  @ParameterizedTest
  @EnumSource(names = {"AVX2", "AVX512"})
  void rowsBecomeProbabilities(Level level) {
    GuardedTest.rounds(
        level,
        ROUNDS,
        4,
        30,
        (_, random, _) -> new SoftmaxRows(1 + random.nextInt(60), random.nextInt(3) * 0.75f + 0.5f),
        (rows, block, read, written, _) -> {
          int first = block * rows.count();
          double sum = 0;
          for (int i = 0; i < rows.count(); i++) {
            sum += Math.exp(read.get(4L * (first + i)) * rows.beta());
          }
          for (int i = 0; i < rows.count(); i++) {
            double wanted = Math.exp(read.get(4L * (first + i)) * rows.beta()) / sum;
            assertEquals(wanted, written.get(4L * (first + i)), 1e-5);
          }
        });
  }

  @ParameterizedTest
  @EnumSource(names = {"AVX2", "AVX512"})
  void windowsArePooled(Level level) {
    GuardedTest.rounds(
        level,
        ROUNDS,
        (_, random, _) -> {
          int channels = 1 + random.nextInt(100);
          int cells = 1 + random.nextInt(4);
          int cellStep = 4 * (channels + random.nextInt(3));
          FusedActivation[] activations = FusedActivation.values();
          Reducing[] kinds = ofFloats(Reducing.values()).toArray(Reducing[]::new);
          return new PooledRun(
              kinds[random.nextInt(kinds.length)],
              1 + random.nextInt(4),
              cellStep * (cells + random.nextInt(3)),
              cells,
              cellStep,
              channels,
              cellStep * (1 + random.nextInt(2)),
              4 * (channels + random.nextInt(3)),
              activations[random.nextInt(activations.length)]);
        },
        (pooled, block, read, written, _) -> {
          for (int c = 0; c < pooled.channels(); c++) {
            assertEquals(
                pool(pooled, read, (long) block * pooled.windowStep() + 4L * c),
                written.get((long) block * pooled.resultStep() + 4L * c),
                1e-5);
          }
        });
  }

  private static double pool(PooledRun pooled, Guarded read, long first) {
    List<Double> values = new ArrayList<>();
    for (int y = 0; y < pooled.rows(); y++) {
      for (int x = 0; x < pooled.cells(); x++) {
        values.add(read.get(first + (long) y * pooled.rowStep() + (long) x * pooled.cellStep()));
      }
    }
    double result = reduce(pooled.kind(), values);
    return Math.min(
        Math.max(result, pooled.activation().range().min()), pooled.activation().range().max());
  }

  private static double reduce(Reducing kind, List<Double> values) {
    double sum = values.stream().mapToDouble(Double::doubleValue).sum();
    return switch (kind) {
      case SUM -> sum;
      case MEAN -> sum / values.size();
      case MAXIMUM, LARGEST_NUMBER -> Collections.max(values);
      case MINIMUM -> Collections.min(values);
      case PRODUCT -> values.stream().reduce(1.0, (a, b) -> a * b);
      case INT_MAXIMUM, INT_MINIMUM -> throw new IllegalArgumentException(kind + " is of integers");
    };
  }

  @ParameterizedTest
  @EnumSource(names = {"AVX2", "AVX512"})
  void rowsBecomeSingleFloats(Level level) {
    GuardedTest.rounds(
        level,
        ROUNDS,
        4,
        1.3f,
        (round, random, _) -> {
          List<Reducing> kinds = ofFloats(Reducing.values());
          Reducing kind = kinds.get(round % kinds.size());
          return new ReducedRows(kind, 1 + random.nextInt(round % 3 == 0 ? 300 : 40));
        },
        (rows, block, read, written, _) -> {
          double wanted = reduce(rows.kind(), row(read, block, rows.count()));
          assertEquals(wanted, written.get(4L * block), 1e-6 * rows.count());
        });
  }

  @ParameterizedTest
  @EnumSource(names = {"AVX2", "AVX512"})
  void extremesAreFound(Level level) {
    GuardedTest.rounds(
        level,
        ROUNDS,
        (_, random, _) -> new FoundRows(random.nextBoolean(), false, 1 + random.nextInt(90)),
        (rows, block, read, written, _) -> {
          List<Double> values = row(read, block, rows.count());
          double best = rows.isLargest() ? Collections.max(values) : Collections.min(values);
          assertEquals(
              values.indexOf(best),
              written.memory().get(ValueLayout.JAVA_INT_UNALIGNED, 4L * block));
        });
  }

  private static List<Double> row(Guarded read, int row, int count) {
    List<Double> values = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      values.add(read.get(4L * ((long) row * count + i)));
    }
    return values;
  }

  @ParameterizedTest
  @EnumSource(names = {"AVX2", "AVX512"})
  void rowsAreNormalized(Level level) {
    GuardedTest.rounds(
        level,
        ROUNDS,
        (_, random, _) -> new NormalizedRows(random.nextBoolean(), 1 + random.nextInt(90), 1e-3f),
        (rows, block, read, written, _) -> {
          List<Double> values = row(read, block, rows.count());
          double mean = rows.isCentered() ? reduce(Reducing.MEAN, values) : 0;
          double squares = values.stream().mapToDouble(x -> (x - mean) * (x - mean)).sum();
          double size =
              rows.isCentered()
                  ? Math.sqrt(squares / rows.count() + 1e-3)
                  : Math.max(Math.sqrt(squares), 1e-3);
          for (int i = 0; i < rows.count(); i++) {
            assertEquals(
                (values.get(i) - mean) / size,
                written.get(4L * ((long) block * rows.count() + i)),
                1e-5);
          }
        });
  }

  @ParameterizedTest
  @EnumSource(names = {"AVX2", "AVX512"})
  void elementsAreMoved(Level level) {
    GuardedTest.rounds(
        level,
        ROUNDS * 4,
        (round, random, _) -> {
          int size = 1 << round % 4;
          int count = 1 + random.nextInt(round % 3 == 0 ? 400 : 50);
          int readStep = size * (random.nextBoolean() ? 1 : random.nextInt(4));
          int writeStep = size * (random.nextBoolean() ? 1 : 1 + random.nextInt(3));
          return new Strided(
              size,
              count,
              readStep,
              writeStep,
              random.nextInt(240),
              count * writeStep + random.nextInt(12));
        },
        (moved, block, read, written, _) -> {
          for (int i = 0; i < moved.count(); i++) {
            long from = (long) block * moved.blockReadStep() + (long) i * moved.readStep();
            long to = (long) block * moved.blockWriteStep() + (long) i * moved.writeStep();
            assertEquals(
                -1,
                read.memory()
                    .asSlice(from, moved.size())
                    .mismatch(written.memory().asSlice(to, moved.size())));
          }
        });
  }

  @ParameterizedTest
  @EnumSource(names = {"AVX2", "AVX512"})
  void cellsRememberAndForget(Level level) {
    CellFunction[] functions = CellFunction.values();
    GuardedTest.rounds(
        level,
        ROUNDS,
        3,
        3,
        (_, random, _) -> {
          int count = 1 + random.nextInt(50);
          Part part = Part.values()[random.nextInt(3)];
          boolean isCoupled = random.nextBoolean();
          int gates = part == Part.OUTPUTS ? 1 : isCoupled ? 3 : 4;
          return new LstmCells(
              part,
              count,
              isCoupled,
              functions[random.nextInt(functions.length)],
              random.nextBoolean() ? 0.7f : 0,
              4 * (count * gates + random.nextInt(9)),
              4 * (count + random.nextInt(9)),
              4 * (2 * count + random.nextInt(9)));
        },
        (cells, block, read, written, other) -> {
          long part = 4L * cells.cells();
          boolean isAlone = cells.part() == Part.OUTPUTS;
          for (int i = 0; i < cells.cells(); i++) {
            long gates = (long) block * cells.gatesStep() + 4L * i;
            long row = (long) block * cells.resultStep() + 4L * i;
            double old = other.get((long) block * cells.statesStep() + 4L * i);
            double state = isAlone ? old : state(cells, read, gates, old);
            if (!isAlone) {
              assertEquals(state, written.get(row), 1e-5);
            }
            if (cells.part() != Part.STATES) {
              long gate = isAlone ? 0 : part * (cells.isCoupled() ? 2 : 3);
              double output = sigmoid(read.get(gates + gate));
              assertEquals(
                  output * activated(cells.activation(), state),
                  written.get(row + (isAlone ? 0 : part)),
                  1e-5);
            }
          }
        });
  }

  private static double state(LstmCells cells, Guarded read, long gates, double old) {
    long part = 4L * cells.cells();
    long first = cells.isCoupled() ? gates - part : gates;
    double forget = sigmoid(read.get(first + part));
    double admitted = cells.isCoupled() ? 1 - forget : sigmoid(read.get(first));
    double state =
        forget * old + admitted * activated(cells.activation(), read.get(first + 2 * part));
    return cells.clip() > 0 ? Math.clamp(state, -cells.clip(), cells.clip()) : state;
  }

  private static double sigmoid(double x) {
    return 1 / (1 + Math.exp(-x));
  }

  private static double activated(CellFunction function, double x) {
    return switch (function) {
      case NONE -> x;
      case RELU -> Math.max(0, x);
      case RELU1 -> Math.clamp(x, -1, 1);
      case RELU6 -> Math.clamp(x, 0, 6);
      case TANH -> Math.tanh(x);
      case SIGMOID -> sigmoid(x);
    };
  }

  @ParameterizedTest
  @EnumSource(names = {"AVX2", "AVX512"})
  void rowsBecomeColumns(Level level) {
    GuardedTest.rounds(
        level,
        ROUNDS,
        3,
        1,
        (_, random, _) -> {
          int rows = 1 + random.nextInt(20);
          int columns = 1 + random.nextInt(20);
          return new Transposed(
              rows, columns, 4 * (columns + random.nextInt(4)), 4 * (3 * rows + random.nextInt(4)));
        },
        (transposed, block, read, written, _) -> {
          int rows = transposed.rows();
          for (int row = block * rows; row < (block + 1) * rows; row++) {
            for (int c = 0; c < transposed.columns(); c++) {
              assertEquals(
                  read.get((long) row * transposed.readStep() + 4L * c),
                  written.get((long) c * transposed.writeStep() + 4L * row));
            }
          }
        });
  }

  @ParameterizedTest
  @EnumSource(names = {"AVX2", "AVX512"})
  void linesAreResized(Level level) {
    GuardedTest.rounds(
        level,
        ROUNDS,
        1,
        1,
        (round, random, _) -> {
          Way way = Way.values()[round % Way.values().length];
          int channels = 1 + random.nextInt(40);
          int cells = 1 + random.nextInt(6);
          List<Column> columns = new ArrayList<>();
          for (int i = 1 + random.nextInt(9); i > 0; i--) {
            int left = random.nextInt(cells);
            columns.add(new Column(left, Math.min(cells - 1, left + 1), random.nextFloat()));
          }
          int lineStep = random.nextBoolean() ? 0 : 4 * cells * channels;
          return new ResizedLine(way, columns, lineStep, channels);
        },
        (line, _, read, written, other) -> {
          for (int x = 0; x < line.columns().size(); x++) {
            for (int c = 0; c < line.channels(); c++) {
              double wanted = between(line, line.columns().get(x), c, read, other.get(0));
              assertEquals(wanted, written.get(4L * (x * line.channels() + c)), 1e-5);
            }
          }
        });
  }

  private static double between(ResizedLine line, Column column, int c, Guarded read, double down) {
    long left = 4L * (column.left() * line.channels() + c);
    long right = 4L * (column.right() * line.channels() + c);
    if (line.way() == Way.NEAREST) {
      return read.get(left);
    }
    double first = read.get(left) * (1 - down) + read.get(left + line.lineStep()) * down;
    double second = read.get(right) * (1 - down) + read.get(right + line.lineStep()) * down;
    return first * (1 - column.along()) + second * column.along();
  }
}
