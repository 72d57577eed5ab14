// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.tensor;

import io.thalamus.api.Tensor;
import io.thalamus.console.CommandException;
import io.thalamus.model.Elements;
import io.thalamus.model.Shape;
import java.io.ByteArrayOutputStream;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * NumPy's file format, as numpy/lib/format.py describes it: C order, little-endian, plain numbers.
 *
 * @param elements the format of the elements
 * @param shape the dimensions; none for a scalar
 * @param data the elements
 */
record Npy(Elements elements, Shape shape, MemorySegment data) {
  private static final byte[] MAGIC = {(byte) 0x93, 'N', 'U', 'M', 'P', 'Y'};
  private static final int ALIGNMENT = 64;
  private static final Pattern DESCR = Pattern.compile("'descr'\\s*:\\s*'([^']*)'");
  private static final Pattern ORDER = Pattern.compile("'fortran_order'\\s*:\\s*(True|False)");
  private static final Pattern SHAPE = Pattern.compile("'shape'\\s*:\\s*\\(([\\d,\\s]*)\\)");

  /**
   * Reads a file's bytes.
   *
   * @throws CommandException where it is damaged, or holds what is not read here
   */
  static Npy read(byte[] file, String name) {
    if (file.length < 12 || !Arrays.equals(file, 0, MAGIC.length, MAGIC, 0, MAGIC.length)) {
      throw new CommandException(name + " is not a .npy file: it does not begin as one");
    }
    // Version 1 has a header length of two bytes, versions 2 and 3 of four.
    boolean shortLength = file[6] == 1;
    long length = file[8] & 0xFF | (file[9] & 0xFF) << 8;
    if (!shortLength) {
      length |= (file[10] & 0xFFL) << 16 | (file[11] & 0xFFL) << 24;
    }
    long start = (shortLength ? 10 : 12) + length;
    if (start > file.length) {
      throw new CommandException(name + " is damaged: it ends within its header");
    }
    int from = shortLength ? 10 : 12;
    String header = new String(file, from, (int) length, StandardCharsets.ISO_8859_1);
    Matcher descr = DESCR.matcher(header);
    Matcher order = ORDER.matcher(header);
    Matcher dimensions = SHAPE.matcher(header);
    if (!descr.find() || !order.find() || !dimensions.find()) {
      throw new CommandException(name + " holds no plain array: its header is " + header.strip());
    }
    if (order.group(1).equals("True")) {
      throw new CommandException(
          name + " is in Fortran order; save it with numpy.ascontiguousarray");
    }
    String kind = descr.group(1);
    Elements elements =
        elements(kind)
            .orElseThrow(
                () ->
                    new CommandException(
                        name + " holds elements of type " + kind + ", which are not read here"));
    return new Npy(elements, shape(dimensions.group(1), name), null)
        .with(MemorySegment.ofArray(file).asSlice(start), name);
  }

  /** NumPy's name of a format. */
  private static String descr(Elements elements) {
    return switch (elements) {
      case FLOAT16 -> "<f2";
      case FLOAT32 -> "<f4";
      case FLOAT64 -> "<f8";
      case INT8 -> "|i1";
      case UINT8 -> "|u1";
      case INT16 -> "<i2";
      case UINT16 -> "<u2";
      case INT32 -> "<i4";
      case UINT32 -> "<u4";
      case INT64 -> "<i8";
      case BOOL8 -> "|b1";
    };
  }

  /** The format that NumPy calls this; empty for other types and big-endian ones. */
  private static Optional<Elements> elements(String descr) {
    String wanted = descr.startsWith("=") ? "<" + descr.substring(1) : descr;
    return Arrays.stream(Elements.values())
        .filter(
            elements ->
                descr(elements).equals(wanted)
                    || elements.size() == 1
                        && descr(elements).substring(1).equals(wanted.substring(1)))
        .findFirst();
  }

  private Npy with(MemorySegment bytes, String name) {
    long wanted = shape.elementCount() * elements.size();
    if (bytes.byteSize() != wanted) {
      throw new CommandException(
          name + " is damaged: " + bytes.byteSize() + " bytes of elements instead of " + wanted);
    }
    return new Npy(elements, shape, bytes);
  }

  private static Shape shape(String text, String name) {
    try {
      Shape shape =
          Shape.of(
              Arrays.stream(text.split(","))
                  .map(String::strip)
                  .filter(part -> !part.isEmpty())
                  .mapToInt(Integer::parseInt)
                  .toArray());
      Math.multiplyExact(shape.elementCount(), Long.BYTES);
      return shape;
    } catch (ArithmeticException | NumberFormatException e) {
      throw new CommandException(name + " is damaged: its shape is (" + text + ")", e);
    }
  }

  /** The bytes of a file that holds this value as it is stored. */
  static byte[] write(Tensor tensor) {
    String dimensions =
        Arrays.stream(tensor.shape().toArray())
            .mapToObj(dimension -> dimension + ",")
            .collect(Collectors.joining(" "));
    String header =
        "{'descr': '"
            + descr(Elements.of(tensor.type()))
            + "', 'fortran_order': False, 'shape': ("
            + dimensions
            + "), }";
    int unpadded = MAGIC.length + 4 + header.length() + 1;
    header += " ".repeat(Math.floorMod(-unpadded, ALIGNMENT)) + "\n";
    ByteArrayOutputStream file = new ByteArrayOutputStream();
    file.writeBytes(MAGIC);
    file.writeBytes(new byte[] {1, 0, (byte) header.length(), (byte) (header.length() >> 8)});
    file.writeBytes(header.getBytes(StandardCharsets.ISO_8859_1));
    file.writeBytes(tensor.segment().toArray(ValueLayout.JAVA_BYTE));
    return file.toByteArray();
  }
}
