// SPDX-License-Identifier: Apache-2.0
package io.thalamus.operations;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationType;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;

class TypesTest {
  private static TypeLevels types(OperationType operation) {
    return OperationCatalog.standard().find(operation).orElseThrow().types();
  }

  @Test
  void everyOperationNamesItsTypes() {
    for (OperationType operation : OperationCatalog.standard().types()) {
      assertFalse(types(operation).types().isEmpty(), operation.text());
    }
  }

  /**
   * NNAPI 1.3 added TENSOR_QUANT8_ASYMM_SIGNED wherever the unsigned type was; these are the
   * exceptions of its documentation, and the one operation that has only the new type.
   */
  @Test
  void bothQuantizedTypesGoTogether() {
    Set<String> apart = new TreeSet<>();
    for (OperationType operation : OperationCatalog.standard().types()) {
      Set<OperandCode> types = types(operation).types();
      if (types.contains(OperandCode.TENSOR_QUANT8_ASYMM)
          != types.contains(OperandCode.TENSOR_QUANT8_ASYMM_SIGNED)) {
        apart.add(operation.text());
      }
    }
    assertEquals(Set.of("HASHTABLE_LOOKUP", "QUANTIZED_16BIT_LSTM", "QUANTIZED_LSTM"), apart);
  }
}
