// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite.file;

import com.google.flatbuffers.FlexBuffers.FlexBufferException;
import com.google.flatbuffers.FloatVector;
import com.google.flatbuffers.IntVector;
import com.google.flatbuffers.LongVector;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.function.IntFunction;
import java.util.function.IntSupplier;
import java.util.function.IntUnaryOperator;
import java.util.function.Supplier;

/**
 * The only way to the bytes of a FlatBuffer. Not thread-safe.
 *
 * <p>The FlatBuffers library for Java has no verifier: a damaged offset makes its accessors throw
 * index errors, or point at other bytes of the file. Here, and nowhere else, those errors become
 * {@link Refusal}. Since tables may share bytes, a small file could also describe more vectors than
 * memory holds; so everything read is paid from a budget that grows with the file.
 */
public final class Checked {
  private static final int MAX_TEXT = 64 * 1024;

  /** The rough size of an object made of a table, however few bytes its table has. */
  private static final int TABLE_COST = 32;

  private final Budget budget;
  private final String where;

  private Checked(Budget budget, String where) {
    this.budget = budget;
    this.where = where;
  }

  /** Access to a file of so many bytes. */
  public static Checked file(long size) {
    return new Checked(new Budget(64 * 1024 + 8 * size), "the header");
  }

  /** The same access, with another place to name where something is wrong. */
  public Checked at(String place) {
    return new Checked(budget, place);
  }

  /** Returns what accessors of generated classes give, which may be null. */
  public <T> T get(Supplier<T> reading) {
    try {
      return reading.get();
    } catch (IndexOutOfBoundsException | IllegalArgumentException | FlexBufferException e) {
      throw new Refusal("the file is damaged: " + where + " points outside of the file", e);
    }
  }

  /** The tables of a vector. */
  public <T> List<T> tables(IntSupplier length, IntFunction<T> element) {
    int count = length(length, TABLE_COST);
    List<T> tables = new ArrayList<>(count);
    for (int i = 0; i < count; i++) {
      int index = i;
      tables.add(get(() -> element.apply(index)));
    }
    return tables;
  }

  /** Pays for so many more objects made of tables that were read. */
  void payFor(int objects) {
    budget.spend((long) objects * TABLE_COST, where);
  }

  /** The numbers of a vector; none where it is left out. */
  public int[] ints(IntSupplier length, IntUnaryOperator element) {
    int[] values = new int[length(length, Integer.BYTES)];
    return get(
        () -> {
          for (int i = 0; i < values.length; i++) {
            values[i] = element.applyAsInt(i);
          }
          return values;
        });
  }

  /** The numbers of a vector; none where it is null. Called while reading. */
  int[] ints(IntVector vector) {
    int[] values = new int[vector == null ? 0 : length(vector.length(), Integer.BYTES)];
    for (int i = 0; i < values.length; i++) {
      values[i] = vector.get(i);
    }
    return values;
  }

  /** The numbers of a vector; none where it is null. Called while reading. */
  long[] longs(LongVector vector) {
    long[] values = new long[vector == null ? 0 : length(vector.length(), Long.BYTES)];
    for (int i = 0; i < values.length; i++) {
      values[i] = vector.get(i);
    }
    return values;
  }

  /** The numbers of a vector; none where it is null. Called while reading. */
  float[] floats(FloatVector vector) {
    float[] values = new float[vector == null ? 0 : length(vector.length(), Float.BYTES)];
    for (int i = 0; i < values.length; i++) {
      values[i] = vector.get(i);
    }
    return values;
  }

  /** The numbers of a vector; none where it is left out. */
  public float[] floats(IntSupplier length, IntFunction<Float> element) {
    float[] values = new float[length(length, Float.BYTES)];
    return get(
        () -> {
          for (int i = 0; i < values.length; i++) {
            values[i] = element.apply(i);
          }
          return values;
        });
  }

  /** A string, from the accessor that gives its bytes; empty where it is left out. */
  public String text(Supplier<ByteBuffer> bytes) {
    return text(get(bytes));
  }

  /** A string of bytes in UTF-8; empty if they are null. */
  String text(ByteBuffer view) {
    if (view == null) {
      return "";
    }
    if (view.remaining() > MAX_TEXT) {
      throw new Refusal(
          "the file is damaged: " + where + " has a text of " + view.remaining() + " bytes");
    }
    budget.spend(view.remaining(), where);
    return StandardCharsets.UTF_8.decode(view).toString();
  }

  /** Returns the place of the bytes of a vector; empty when it is left out. Reads nothing. */
  public ByteRange range(IntSupplier length, Supplier<ByteBuffer> bytes) {
    int count = get(length::getAsInt);
    return range(count, count == 0 ? null : get(bytes));
  }

  /** Returns the place of so many bytes; empty if there are none. Reads nothing. */
  ByteRange range(int count, ByteBuffer view) {
    if (count == 0) {
      return ByteRange.EMPTY;
    }
    // The library computes the end in 32 bits: a negative length moves the start instead.
    if (count < 0 || view == null || view.remaining() != count) {
      throw new Refusal("the file is damaged: " + where + " points outside of the file");
    }
    return new ByteRange(view.position(), count);
  }

  private int length(IntSupplier accessor, int costOfElement) {
    return length(get(accessor::getAsInt), costOfElement);
  }

  private int length(int count, int costOfElement) {
    if (count < 0) {
      throw new Refusal("the file is damaged: " + where + " has a vector of negative length");
    }
    budget.spend((long) count * costOfElement, where);
    return count;
  }

  private static final class Budget {
    private long left;

    Budget(long left) {
      this.left = left;
    }

    void spend(long amount, String where) {
      left -= amount;
      if (left < 0) {
        throw new Refusal(
            "the file is damaged: up to " + where + " it describes more than it can hold");
      }
    }
  }
}
