// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite.file;

import com.google.flatbuffers.FlatBufferBuilder;
import com.google.flatbuffers.Table;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import org.tensorflow.lite.schema.BuiltinOperator;
import org.tensorflow.lite.schema.BuiltinOptions;

/**
 * An operator as the file describes it. The arrays must not be changed.
 *
 * @param index in its graph
 * @param kind what it computes
 * @param inputs indexes of tensors; -1 where an optional one is left out
 * @param outputs indexes of tensors
 * @param intermediates tensors that only carry quantization
 * @param customOptions the settings of a custom operator
 * @param table the rest of the file's description
 * @param checked access to {@code table}
 */
public record FlatOperator(
    int index,
    Kind kind,
    int[] inputs,
    int[] outputs,
    int[] intermediates,
    ByteRange customOptions,
    FlatTable table,
    Checked checked) {

  /**
   * The function of an operator.
   *
   * @param code a constant of {@link BuiltinOperator}
   * @param customName where the code is {@link BuiltinOperator#CUSTOM}
   */
  public record Kind(int code, String customName) {
    /** For people: {@code CONV_2D}, or {@code CUSTOM Name}. */
    public String text() {
      if (code == BuiltinOperator.CUSTOM) {
        return "CUSTOM " + customName;
      }
      return code >= 0 && code < BuiltinOperator.names.length
          ? BuiltinOperator.names[code]
          : "operator code " + code;
    }
  }

  /**
   * The settings of a builtin operator, which the generated class is named after in {@link
   * BuiltinOptions}. If the file has none, all have their defaults.
   *
   * @param options an empty object of the generated class, which is filled
   * @throws Refusal where the file has settings of another kind
   */
  public <T extends Table> T options(T options) {
    byte found = checked.get(table::optionsType);
    if (found == BuiltinOptions.NONE || checked.get(() -> table.options(options)) == null) {
      checked.get(() -> FlatTable.root(WithoutOptions.BYTES).options(options));
      return options;
    }
    if (found < 0
        || found >= BuiltinOptions.names.length
        || !BuiltinOptions.names[found].equals(options.getClass().getSimpleName())) {
      throw new Refusal(
          "the file is damaged: operator %s %s has settings of another operator"
              .formatted(index, kind.text()));
    }
    return options;
  }

  /** An operator whose options are a table without fields. */
  private static final class WithoutOptions {
    private static final ByteBuffer BYTES = bytes();

    private static ByteBuffer bytes() {
      FlatBufferBuilder builder = new FlatBufferBuilder(64);
      builder.startTable(0);
      int options = builder.endTable();
      int field = FlatTable.OPTIONS / Short.BYTES - 2;
      builder.startTable(field + 1);
      builder.addOffset(field, options, 0);
      builder.finish(builder.endTable());
      return builder.dataBuffer().slice().asReadOnlyBuffer().order(ByteOrder.LITTLE_ENDIAN);
    }
  }
}
