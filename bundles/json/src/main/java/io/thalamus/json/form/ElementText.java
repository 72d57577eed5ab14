// SPDX-License-Identifier: Apache-2.0
package io.thalamus.json.form;

import io.thalamus.model.Elements;
import io.thalamus.model.OperandType;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** The elements of constants as text, each in the shortest form that gives the same bits again. */
public final class ElementText {
  private ElementText() {}

  /**
   * Returns a constant as numbers.
   *
   * @return empty if numbers do not say all of it: the type is an extension's, bytes are left over,
   *     or a NaN is not the usual one
   */
  public static Optional<List<String>> encode(OperandType type, MemorySegment bytes) {
    Optional<Elements> found = Elements.find(type);
    if (found.isEmpty() || bytes.byteSize() % found.get().size() != 0) {
      return Optional.empty();
    }
    Elements elements = found.get();
    byte[] again = new byte[elements.size()];
    List<String> texts = new ArrayList<>();
    for (long i = 0; i < bytes.byteSize() / elements.size(); i++) {
      String text = text(elements, bytes, i);
      decode(elements, text, MemorySegment.ofArray(again), 0);
      MemorySegment element = bytes.asSlice(i * elements.size(), elements.size());
      if (element.mismatch(MemorySegment.ofArray(again)) >= 0) {
        return Optional.empty();
      }
      texts.add(text);
    }
    return Optional.of(texts);
  }

  private static String text(Elements elements, MemorySegment bytes, long index) {
    if (elements.isFloat()) {
      return Float.toString(elements.getFloat(bytes, index));
    }
    return elements == Elements.UINT32
        ? Integer.toUnsignedString(elements.getInt(bytes, index))
        : Integer.toString(elements.getInt(bytes, index));
  }

  /**
   * Returns the bytes of numbers.
   *
   * @throws NumberFormatException if one is no number, or beyond the type; its message is the text
   */
  public static byte[] decode(Elements elements, List<String> texts) {
    byte[] bytes = new byte[Math.multiplyExact(texts.size(), elements.size())];
    MemorySegment segment = MemorySegment.ofArray(bytes);
    for (int i = 0; i < texts.size(); i++) {
      decode(elements, texts.get(i), segment, i);
    }
    return bytes;
  }

  private static void decode(Elements elements, String text, MemorySegment into, long index) {
    if (elements.isFloat()) {
      elements.setFloat(into, index, real(text));
      if (Float.isInfinite(elements.getFloat(into, index)) && !text.endsWith("Infinity")) {
        throw new NumberFormatException(text);
      }
      return;
    }
    long value = Long.parseLong(text);
    // A stored truth value may be any byte.
    double most = elements == Elements.BOOL8 ? 0xFF : elements.most();
    if (value < elements.least() || value > most) {
      throw new NumberFormatException(text);
    }
    elements.setInt(into, index, (int) value);
  }

  /**
   * Returns a float.
   *
   * @throws NumberFormatException if the text is none, or beyond a float; its message is the text
   */
  public static float real(String text) {
    float value;
    try {
      value = Float.parseFloat(text);
    } catch (NumberFormatException e) {
      NumberFormatException refused = new NumberFormatException(text);
      refused.initCause(e);
      throw refused;
    }
    if (Float.isInfinite(value) && !text.endsWith("Infinity")) {
      throw new NumberFormatException(text);
    }
    return value;
  }
}
