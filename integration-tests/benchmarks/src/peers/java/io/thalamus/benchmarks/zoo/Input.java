// SPDX-License-Identifier: Apache-2.0
package io.thalamus.benchmarks.zoo;

import io.thalamus.model.Operand;
import io.thalamus.model.OperandCode;
import io.thalamus.model.Shape;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;

/**
 * An input of one run.
 *
 * @param name as in the file
 * @param shape its dimensions
 * @param isOpen whether its shape is given to the reader, since the file leaves dimensions open
 * @param low the least number that it is fed
 * @param high the largest
 * @param isWhole whether it is fed whole numbers
 */
record Input(String name, Shape shape, boolean isOpen, double low, double high, boolean isWhole) {
  private static final int FEW = 4;

  /** Returns so many numbers for it as it has elements. */
  double[] numbers(Random random) {
    double[] numbers = new double[Math.toIntExact(shape.elementCount())];
    for (int i = 0; i < numbers.length; i++) {
      numbers[i] =
          isWhole
              ? low + random.nextInt((int) (high - low) + 1)
              : low + random.nextFloat() * (high - low);
    }
    return numbers;
  }

  /** Returns an input as a file has it; what it leaves open is small. */
  static Input of(Operand operand, Shape stated) {
    boolean isOpen = !stated.isFullySpecified();
    int[] sizes = stated.toArray();
    for (int i = 0; i < sizes.length; i++) {
      sizes[i] = sizes[i] > 0 ? sizes[i] : i == 0 ? 1 : 2 * FEW;
    }
    Shape shape = Shape.of(sizes);
    String name = operand.name();
    if (operand.type() == OperandCode.TENSOR_QUANT8_ASYMM) {
      return new Input(name, shape, isOpen, 0, 255, true);
    } else if (operand.type() == OperandCode.TENSOR_QUANT8_ASYMM_SIGNED) {
      return new Input(name, shape, isOpen, -128, 127, true);
    } else if (operand.type() == OperandCode.TENSOR_QUANT16_SYMM) {
      return new Input(name, shape, isOpen, -20_000, 20_000, true);
    } else if (operand.type() == OperandCode.TENSOR_BOOL8) {
      return new Input(name, shape, isOpen, 0, 1, true);
    } else if (operand.type() == OperandCode.TENSOR_FLOAT32
        || operand.type() == OperandCode.TENSOR_FLOAT16) {
      return new Input(name, shape, isOpen, -1, 1, false);
    }
    return new Input(name, shape, isOpen, 0, FEW, true);
  }

  /**
   * Returns the runs that stand in a file beside the model: for each input a line {@code NAME
   * DIMENSIONS [LOW HIGH]}, and an empty line after each run. Without the file, there is one run.
   */
  static List<List<Input>> runs(Path file, List<Input> stated) throws IOException {
    if (!Files.exists(file)) {
      return List.of(stated);
    }
    List<List<Input>> runs = new ArrayList<>();
    List<Input> run = new ArrayList<>();
    for (String line : Files.readAllLines(file)) {
      if (!line.isBlank()) {
        run.add(line(line.split(" "), stated));
      } else if (!run.isEmpty()) {
        runs.add(run);
        run = new ArrayList<>();
      }
    }
    if (!run.isEmpty()) {
      runs.add(run);
    }
    return runs;
  }

  /** Returns the shapes of the first run that stands in a file, by name; none without the file. */
  static Map<String, Shape> shapes(Path file) throws IOException {
    Map<String, Shape> shapes = new HashMap<>();
    for (String line : Files.exists(file) ? Files.readAllLines(file) : List.<String>of()) {
      if (line.isBlank()) {
        break;
      }
      String[] words = line.split(" ");
      shapes.put(words[0], shape(words[1]));
    }
    return shapes;
  }

  private static Shape shape(String dimensions) {
    return dimensions.equals("scalar")
        ? Shape.NONE
        : Shape.of(Arrays.stream(dimensions.split("x")).mapToInt(Integer::parseInt).toArray());
  }

  private static Input line(String[] words, List<Input> stated) {
    Input like =
        stated.stream()
            .filter(input -> input.name().equals(words[0]))
            .findFirst()
            .orElse(new Input(words[0], Shape.NONE, false, -1, 1, false));
    Shape shape = shape(words[1]);
    boolean isRanged = words.length == 4;
    return new Input(
        like.name(),
        shape,
        true,
        isRanged ? Double.parseDouble(words[2]) : like.low(),
        isRanged ? Double.parseDouble(words[3]) : like.high(),
        like.isWhole() || isRanged && like.shape().equals(Shape.NONE));
  }
}
