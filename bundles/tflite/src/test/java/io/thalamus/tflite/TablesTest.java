// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.model.reader.ModelFormatException;
import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;
import org.tensorflow.lite.schema.BuiltinOperator;
import org.tensorflow.lite.schema.BuiltinOptions;
import org.tensorflow.lite.schema.HashtableOptions;
import org.tensorflow.lite.schema.TensorType;

/** Hash tables that are filled once. */
class TablesTest {
  private static final byte TEXT = TensorType.STRING;
  private static final byte NUMBER = TensorType.INT64;

  private TfliteFileBuilder file = new TfliteFileBuilder();

  private String read() throws ModelFormatException {
    return ModelText.of(TestFiles.read(file).model());
  }

  private int table(int id, byte keys, byte values) {
    int handle = file.tensor("table " + id, TensorType.RESOURCE, null, 1);
    file.operator(
        BuiltinOperator.HASHTABLE,
        BuiltinOptions.HashtableOptions,
        flat -> HashtableOptions.createHashtableOptions(flat, id, keys, values),
        new int[0],
        handle);
    return handle;
  }

  private int find(int table, int keys, int otherwise, byte type, int... shape) {
    int found = file.tensor("found", type, null, shape);
    file.operator(BuiltinOperator.HASHTABLE_FIND, new int[] {table, keys, otherwise}, found);
    return found;
  }

  private void fill(int table, int keys, int values) {
    file.operator(BuiltinOperator.HASHTABLE_IMPORT, new int[] {table, keys, values});
  }

  private int longs(long... values) {
    ByteBuffer bytes = ByteBuffer.allocate(8 * values.length).order(ByteOrder.LITTLE_ENDIAN);
    bytes.asLongBuffer().put(values);
    return file.constant("numbers", NUMBER, null, bytes.array(), values.length);
  }

  private int texts(String... values) {
    int[] header = new int[values.length + 2];
    header[0] = values.length;
    header[1] = 4 * header.length;
    for (int i = 0; i < values.length; i++) {
      header[i + 2] = header[i + 1] + values[i].length();
    }
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    bytes.writeBytes(TfliteFileBuilder.intBytes(header));
    bytes.writeBytes(String.join("", values).getBytes(StandardCharsets.US_ASCII));
    return file.constant("texts", TEXT, null, bytes.toByteArray(), values.length);
  }

  /** Key 5 is "b", which is 8; the table of texts knows no "?". */
  @Test
  void textsGoFromOneTableToTheNext() throws ModelFormatException {
    int x = file.tensor("x", NUMBER, null, 4);
    file.callOnce();
    int texts = find(table(7, NUMBER, TEXT), x, texts("?"), TEXT, 4);
    int y = find(table(3, TEXT, NUMBER), texts, longs(-1), NUMBER, 4);
    file.graph(new int[] {x}, y);
    fill(table(7, NUMBER, TEXT), longs(9, 5, 3), texts("c", "b", "a"));
    fill(table(3, TEXT, NUMBER), texts("a", "b", "c"), longs(7, 8, 9));
    file.graph(new int[0]);
    assertEquals(
        """
        io.thalamus/CAST(x) -> %0:4
        HASHTABLE_LOOKUP(%0:4, [3, 5, 9], [3, 2, 1]) -> %1:4, %2:4
        GATHER([3, 0, 1, 2], 0, %1:4) -> found
        HASHTABLE_LOOKUP(found, [0, 1, 2], [3, 2, 1]) -> %3:4, %4:4
        GATHER([-1, 7, 8, 9], 0, %3:4) -> found
        io.thalamus/CAST(found) -> found\
        """,
        read());
  }

  /** The first of equal keys counts, and so does the first to fill a table. */
  @Test
  void numbersHaveRealValuesAndAnyShape() throws ModelFormatException {
    int x = file.tensor("x", TensorType.INT32, null, 2, 3);
    file.callOnce();
    int table = table(1, NUMBER, TensorType.FLOAT32);
    byte[] otherwise = TfliteFileBuilder.floatBytes(-1);
    int none = file.constant("none", TensorType.FLOAT32, null, otherwise);
    int y = find(table, x, none, TensorType.FLOAT32, 2, 3);
    int size = file.tensor("size", NUMBER, null, 1);
    file.operator(BuiltinOperator.HASHTABLE_SIZE, new int[] {table}, size)
        .graph(new int[] {x}, y, size);
    int filled = table(1, NUMBER, TensorType.FLOAT32);
    byte[] values = TfliteFileBuilder.floatBytes(0.5f, 1.5f, 2.5f);
    fill(filled, longs(4, 2, 4), file.constant("v", TensorType.FLOAT32, null, values, 3));
    fill(filled, longs(6, 7, 8), file.constant("w", TensorType.FLOAT32, null, values, 3));
    file.graph(new int[0]);
    assertEquals(
        """
        io.thalamus/AS_STRIDED(x, [6], [1], 0) -> %0:6
        HASHTABLE_LOOKUP(%0:6, [2, 4], [2, 1]) -> %1:6, %2:6
        io.thalamus/AS_STRIDED(%1:6, [2, 3], [3, 1], 0) -> %3:2x3
        GATHER([-1.0, 0.5, 1.5, 2.5], 0, %3:2x3) -> found
        io.thalamus/CAST([2]) -> size\
        """,
        read());
  }

  private void assertRefused(String expected) {
    ModelFormatException refused = assertThrows(ModelFormatException.class, this::read);
    assertTrue(refused.getMessage().contains(expected), refused.getMessage());
  }

  @Test
  void textsAreNoResults() {
    int x = file.tensor("x", NUMBER, null, 4);
    file.callOnce();
    int y = find(table(7, NUMBER, TEXT), x, texts("?"), TEXT, 4);
    file.graph(new int[] {x}, y);
    fill(table(7, NUMBER, TEXT), longs(3), texts("a"));
    file.graph(new int[0]);
    assertRefused("'found' is of type STRING, which NNAPI does not have");
  }

  @Test
  void tableThatIsNotFilledIsRefused() {
    int x = file.tensor("x", NUMBER, null, 4);
    int y = find(table(7, NUMBER, NUMBER), x, longs(1), NUMBER, 4);
    file.graph(new int[] {x}, y);
    assertRefused("HASHTABLE_FIND (output 'found'): its table is not filled");
  }

  @Test
  void damagedTextsAreRefused() {
    for (int[] header :
        new int[][] {{}, {1}, {-1, 8}, {1 << 30, 8, 8}, {1, 12, 13}, {2, 16, 12, 16}, {1, -4, 4}}) {
      file = new TfliteFileBuilder();
      int x = file.tensor("x", NUMBER, null, 4);
      byte[] bytes = header.length == 0 ? new byte[1] : TfliteFileBuilder.intBytes(header);
      int texts = file.constant("texts", TEXT, null, bytes, 1);
      fill(table(7, NUMBER, TEXT), longs(3), texts);
      file.graph(new int[] {x}, x);
      assertRefused("the file is damaged");
    }
  }

  @Test
  void keysAndValuesAreAsMany() {
    int x = file.tensor("x", NUMBER, null, 4);
    fill(table(7, NUMBER, TEXT), longs(3, 4), texts("a"));
    file.graph(new int[] {x}, x);
    assertRefused("2 keys do not fit 1 values");
  }
}
