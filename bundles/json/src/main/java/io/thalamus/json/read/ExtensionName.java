// SPDX-License-Identifier: Apache-2.0
package io.thalamus.json.read;

import io.thalamus.json.form.Form;
import io.thalamus.model.reader.ModelFormatException;
import java.util.function.Supplier;

/**
 * A type that an extension defines, as it stands in the text. Immutable.
 *
 * @param isTensor of operands alone
 * @param elementSize of operands alone; 0 for operations
 */
record ExtensionName(
    Cursor cursor, String extension, int code, String name, boolean isTensor, int elementSize) {

  /** A type while it is read. */
  private static final class Draft {
    private String extension = "";
    private int code = -1;
    private String name = "";
    private boolean isTensor;
    private int elementSize;
  }

  static ExtensionName read(Cursor cursor) throws ModelFormatException {
    Draft draft = new Draft();
    cursor.object(
        name -> {
          switch (name) {
            case Form.EXTENSION -> draft.extension = cursor.text();
            case Form.CODE -> draft.code = cursor.natural();
            case Form.NAMED -> draft.name = cursor.text();
            case Form.TENSOR -> draft.isTensor = cursor.truth();
            case Form.ELEMENT_SIZE -> draft.elementSize = cursor.natural();
            default -> throw cursor.unknown(name, "an extension's type");
          }
        });
    return new ExtensionName(
        cursor, draft.extension, draft.code, draft.name, draft.isTensor, draft.elementSize);
  }

  /** Returns a type, or the error that the rules for extensions make of it. */
  <T> T checked(Supplier<T> type) throws ModelFormatException {
    try {
      return type.get();
    } catch (IllegalArgumentException e) {
      throw cursor.error(e.getMessage(), e);
    }
  }
}
