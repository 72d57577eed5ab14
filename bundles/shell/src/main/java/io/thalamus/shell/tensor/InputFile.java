// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.tensor;

import io.thalamus.api.NeuralNetworksException;
import io.thalamus.api.Tensor;
import io.thalamus.api.picture.Picture;
import io.thalamus.console.CommandException;
import io.thalamus.console.Invocation;
import io.thalamus.console.Reasons;
import io.thalamus.model.Elements;
import io.thalamus.model.Operand;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Random;

/**
 * Reads the value of an input from a file of numbers, or makes one up. Stateless.
 *
 * <p>Files hold elements as they are stored, quantized ones as integers; only a {@code .npy} file
 * of floats for a quantized input holds real numbers.
 */
public final class InputFile {
  private InputFile() {}

  /** Returns true if a file of this name is one of numbers. */
  public static boolean accepts(String fileName) {
    String name = fileName.toLowerCase(Locale.ROOT);
    return name.endsWith(".bin") || name.endsWith(".npy") || name.endsWith(".json");
  }

  /**
   * Reads a value.
   *
   * @param file a name that {@link #accepts} accepts
   * @param compiled the operand it is for
   * @param open the same with dimensions of 0 that may be any, which count where the first does not
   *     fit
   * @throws CommandException if it cannot be read
   * @throws NeuralNetworksException if it does not fit
   */
  public static Tensor read(Path file, Operand compiled, Operand open)
      throws NeuralNetworksException {
    String name = file.getFileName().toString();
    requireNumeric(compiled);
    String lower = name.toLowerCase(Locale.ROOT);
    if (lower.endsWith(".bin")) {
      return bin(file, compiled, open);
    }
    byte[] bytes = bytes(file);
    if (lower.endsWith(".npy")) {
      Npy npy = Npy.read(bytes, name);
      return convert(npy, fitting(npy.shape(), compiled, open), name);
    }
    JsonNumbers numbers = JsonNumbers.read(bytes, name);
    return convert(numbers, fitting(numbers.shape(), compiled, open), name);
  }

  private static Operand fitting(Shape given, Operand compiled, Operand open) {
    boolean fits =
        open.type().isTensor()
            && given.rank() == open.shape().rank()
            && open.shape().combine(given).isPresent();
    return fits ? open : compiled;
  }

  /** Returns the dimensions in the .npy files of a command, by the number of the input. */
  public static Map<String, Shape> shapes(Invocation invocation) {
    List<String> words = invocation.arguments().operands();
    Map<String, Shape> shapes = new HashMap<>();
    for (int i = 1; i < words.size(); i++) {
      if (words.get(i).toLowerCase(Locale.ROOT).endsWith(".npy")) {
        Shape shape = Npy.read(bytes(invocation.path(words.get(i))), words.get(i)).shape();
        if (shape.rank() > 0 && shape.isFullySpecified()) {
          shapes.put(Integer.toString(i - 1), shape);
        }
      }
    }
    return shapes;
  }

  /**
   * Reads a picture.
   *
   * @throws CommandException if the file cannot be read, or is none
   */
  public static Picture picture(Path file) {
    String name = String.valueOf(file.getFileName());
    byte[] bytes = bytes(file);
    if (bytes.length == 0) {
      throw new CommandException("cannot read " + file + ": the file is empty");
    }
    try {
      return Picture.read(name, bytes);
    } catch (NeuralNetworksException e) {
      throw new CommandException(e.getMessage(), e);
    }
  }

  /**
   * Elements spread evenly: floats over [-1, 1), quantized ones over all that can be stored. Other
   * integers and booleans are 0 or 1: what counts or chooses, as tokens and masks do, takes these,
   * and few others. The same seed gives the same elements.
   *
   * @throws CommandException if the dimensions are not known
   * @throws NeuralNetworksException if there is no memory for them
   */
  public static Tensor random(long seed, Operand input) throws NeuralNetworksException {
    requireNumeric(input);
    if (input.type().isTensor() && (input.shape().rank() == 0 || !withBatch(input).isSizeKnown())) {
      throw new CommandException(
          "the model leaves the dimensions of " + input.text() + " open; give it as .npy");
    }
    Tensor tensor = Tensor.allocate(input, withBatch(input).shape());
    Elements elements = Elements.of(tensor.type());
    boolean isChoice = !elements.isFloat() && input.quantization().equals(Quantization.NONE);
    double least = isChoice ? 0 : elements.least();
    double most = isChoice ? 1 : elements.most();
    Random random = new Random(seed);
    for (long i = 0; i < tensor.count(); i++) {
      double unit = random.nextDouble();
      tensor.store(
          i, elements.isFloat() ? 2 * unit - 1 : least + Math.floor(unit * (most - least + 1)));
    }
    return tensor;
  }

  /** The operand with a batch of one where the model leaves only the size of the batch open. */
  public static Operand withBatch(Operand input) {
    Shape shape = input.shape();
    return shape.rank() > 1 && shape.dimension(0) == 0 ? input.with(shape.with(0, 1)) : input;
  }

  private static void requireNumeric(Operand input) {
    if (Elements.find(input.type()).isEmpty()) {
      throw new CommandException(
          "inputs of type " + input.type().text() + " cannot be read from files");
    }
  }

  private static Tensor bin(Path file, Operand compiled, Operand open)
      throws NeuralNetworksException {
    String name = file.getFileName().toString();
    long size;
    try {
      size = Files.size(file);
    } catch (IOException e) {
      throw new CommandException("cannot read " + file + ": " + Reasons.of(e), e);
    }
    Shape own = fill(compiled, size);
    Operand input = own == null && compiled.isSizeKnown() ? open : compiled;
    Shape shape = own == null ? fill(input, size) : own;
    if (shape == null) {
      Operand whole = withBatch(input);
      throw new CommandException(
          whole.isSizeKnown()
              ? "%s holds %s bytes, but %s takes %s"
                  .formatted(name, size, input.text(), whole.byteSize())
              : "%s: the model leaves the dimensions of %s open; give it as .npy"
                  .formatted(name, input.text()));
    }
    return Tensor.of(input.with(shape), bytes(file));
  }

  /** The dimensions of a value of so many bytes, where they follow from them; else null. */
  private static Shape fill(Operand input, long size) {
    if (input.isSizeKnown()) {
      return size == input.byteSize() ? input.shape() : null;
    }
    int[] dimensions = input.shape().toArray();
    int open = -1;
    long unit = input.type().elementSize();
    for (int i = 0; i < dimensions.length; i++) {
      if (dimensions[i] != 0) {
        unit *= dimensions[i];
      } else if (open >= 0) {
        return null;
      } else {
        open = i;
      }
    }
    if (open < 0 || size == 0 || size % unit != 0 || size / unit > Integer.MAX_VALUE) {
      return null;
    }
    return input.shape().with(open, (int) (size / unit));
  }

  private static byte[] bytes(Path file) {
    try {
      if (Files.size(file) > Integer.MAX_VALUE - Long.BYTES) {
        throw new CommandException("cannot read " + file + ": it is larger than 2 GiB");
      }
      return Files.readAllBytes(file);
    } catch (IOException e) {
      throw new CommandException("cannot read " + file + ": " + Reasons.of(e), e);
    }
  }

  private static Tensor convert(Npy npy, Operand input, String name)
      throws NeuralNetworksException {
    Shape shape = resolve(npy.shape(), input, name);
    Tensor tensor = Tensor.allocate(input, shape);
    if (npy.elements() == Elements.of(tensor.type())) {
      tensor.segment().copyFrom(npy.data());
      return tensor;
    }
    boolean real = npy.elements().isFloat() && tensor.isQuantized();
    for (long i = 0; i < tensor.count(); i++) {
      double value = number(npy, i);
      if (real) {
        tensor.storeReal(i, value);
      } else {
        store(tensor, i, value, name);
      }
    }
    return tensor;
  }

  private static double number(Npy npy, long index) {
    double number = npy.elements().getDouble(npy.data(), index);
    return npy.elements() == Elements.BOOL8 && number != 0 ? 1 : number;
  }

  private static Tensor convert(JsonNumbers numbers, Operand input, String name)
      throws NeuralNetworksException {
    Shape shape = resolve(numbers.shape(), input, name);
    Tensor tensor = Tensor.allocate(input, shape);
    for (int i = 0; i < numbers.values().length; i++) {
      store(tensor, i, numbers.values()[i], name);
    }
    return tensor;
  }

  private static void store(Tensor tensor, long index, double value, String name)
      throws NeuralNetworksException {
    Elements elements = Elements.of(tensor.type());
    boolean fits =
        elements.isFloat()
            || value == Math.rint(value) && value >= elements.least() && value <= elements.most();
    if (!fits) {
      throw new CommandException(
          "%s: element %s is %s, which no %s can hold"
              .formatted(name, index, value, tensor.type().text()));
    }
    tensor.store(index, value);
  }

  /** The dimensions that a value given so has for an operand; dimensions of one do not count. */
  private static Shape resolve(Shape given, Operand input, String name)
      throws NeuralNetworksException {
    Shape wanted = input.shape();
    if (!input.type().isTensor()) {
      if (given.elementCount() == 1) {
        return Shape.NONE;
      }
    } else if (wanted.rank() == 0) {
      return given;
    } else if (given.rank() == wanted.rank()) {
      boolean same = true;
      for (int i = 0; i < given.rank(); i++) {
        same &= wanted.dimension(i) == 0 || wanted.dimension(i) == given.dimension(i);
      }
      if (same) {
        return given;
      }
    }
    Shape whole = withBatch(input).shape();
    if (input.type().isTensor()
        && whole.isFullySpecified()
        && Arrays.equals(withoutOnes(given), withoutOnes(whole))) {
      return whole;
    }
    throw new CommandException(
        name + " has shape " + given + ", which does not fit " + input.text());
  }

  private static int[] withoutOnes(Shape shape) {
    return Arrays.stream(shape.toArray()).filter(dimension -> dimension != 1).toArray();
  }
}
