// SPDX-License-Identifier: Apache-2.0
package io.thalamus.vectors;

import io.thalamus.model.Elements;
import io.thalamus.model.OperandType;
import java.lang.foreign.MemorySegment;

/**
 * Elements of operands as bytes, as requests carry them, and as numbers. Extension types and
 * subgraphs have no numbers here. Stateless.
 */
public final class ElementCodec {
  private ElementCodec() {}

  /**
   * Returns the bytes of some numbers. Floats are rounded to their type; integers must be whole and
   * in the range of theirs.
   *
   * @throws VectorFormatException where a number does not fit, or the type has no numbers
   */
  public static byte[] encode(OperandType type, Values values) throws VectorFormatException {
    Elements elements = elements(type);
    byte[] bytes = new byte[Math.multiplyExact(values.size(), elements.size())];
    MemorySegment segment = MemorySegment.ofArray(bytes);
    for (int i = 0; i < values.size(); i++) {
      double number = values.get(i);
      if (!elements.isFloat()
          && !(number == Math.rint(number)
              && number >= elements.least()
              && number <= elements.most())) {
        throw new VectorFormatException(
            "value %s is no whole number in %d..%d for %s"
                .formatted(number, (long) elements.least(), (long) elements.most(), type.text()));
      }
      elements.setDouble(segment, i, number);
    }
    return bytes;
  }

  /**
   * Returns the numbers of some bytes.
   *
   * @throws VectorFormatException where the type has no numbers, or the last element is cut off
   */
  public static Values decode(OperandType type, MemorySegment bytes) throws VectorFormatException {
    Elements elements = elements(type);
    if (bytes.byteSize() % elements.size() != 0) {
      throw new VectorFormatException(
          bytes.byteSize() + " bytes are no whole number of " + type.text() + " elements");
    }
    double[] numbers = new double[Math.toIntExact(bytes.byteSize() / elements.size())];
    for (int i = 0; i < numbers.length; i++) {
      numbers[i] = elements.getDouble(bytes, i);
    }
    return Values.owning(numbers);
  }

  private static Elements elements(OperandType type) throws VectorFormatException {
    return Elements.find(type)
        .orElseThrow(
            () ->
                new VectorFormatException("values of type " + type.text() + " cannot be numbers"));
  }
}
