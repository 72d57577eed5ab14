// SPDX-License-Identifier: Apache-2.0
package io.thalamus.json.read;

import io.thalamus.json.form.Form;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.ExtensionOperationType;
import io.thalamus.model.Operand;
import io.thalamus.model.Operation;
import io.thalamus.model.OperationCode;
import io.thalamus.model.OperationType;
import io.thalamus.model.Subgraph;
import io.thalamus.model.reader.ModelFormatException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Collectors;

/** Reads one graph. Not thread-safe. */
final class GraphReader {
  private static final Map<String, OperationCode> CODES =
      Arrays.stream(OperationCode.values())
          .collect(Collectors.toMap(OperationCode::text, Function.identity()));

  private final Cursor cursor;
  private final OperandReader operandReader;
  private final List<Operand> operands = new ArrayList<>();
  private final List<Operation> operations = new ArrayList<>();
  private List<Integer> inputs = List.of();
  private List<Integer> outputs = List.of();

  /**
   * A reader.
   *
   * @param constants the other file; null if there is none
   */
  GraphReader(Cursor cursor, SharedMemory constants) {
    this.cursor = cursor;
    this.operandReader = new OperandReader(cursor, constants);
  }

  Subgraph read() throws ModelFormatException {
    cursor.object(
        name -> {
          switch (name) {
            case Form.OPERANDS -> cursor.array(() -> operands.add(operandReader.read()));
            case Form.OPERATIONS -> cursor.array(this::operation);
            case Form.INPUTS -> inputs = indexes();
            case Form.OUTPUTS -> outputs = indexes();
            default -> throw cursor.unknown(name, "a graph");
          }
        });
    return new Subgraph(operands, operations, inputs, outputs);
  }

  private List<Integer> indexes() throws ModelFormatException {
    return Arrays.stream(cursor.naturals()).boxed().toList();
  }

  /** An operation while it is read. */
  private static final class Draft {
    private OperationType type;
    private List<Integer> inputs = List.of();
    private List<Integer> outputs = List.of();
  }

  private void operation() throws ModelFormatException {
    Draft draft = new Draft();
    cursor.object(
        name -> {
          switch (name) {
            case Form.TYPE -> draft.type = type();
            case Form.INPUTS -> draft.inputs = indexes();
            case Form.OUTPUTS -> draft.outputs = indexes();
            default -> throw cursor.unknown(name, "an operation");
          }
        });
    if (draft.type == null) {
      throw cursor.error("an operation has no '" + Form.TYPE + "'");
    }
    operations.add(new Operation(draft.type, draft.inputs, draft.outputs));
  }

  private OperationType type() throws ModelFormatException {
    if (cursor.isObject()) {
      ExtensionName name = ExtensionName.read(cursor);
      if (name.elementSize() != 0 || name.isTensor()) {
        throw cursor.error("an operation has no elements");
      }
      return name.checked(
          () -> new ExtensionOperationType(name.extension(), name.code(), name.name()));
    }
    String text = cursor.text();
    OperationCode code = CODES.get(text);
    if (code == null) {
      throw cursor.error("NNAPI has no operation '" + text + "'");
    }
    return code;
  }
}
