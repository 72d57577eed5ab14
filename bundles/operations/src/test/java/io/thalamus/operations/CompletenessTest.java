// SPDX-License-Identifier: Apache-2.0
package io.thalamus.operations;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.thalamus.model.OperationCode;
import java.util.EnumSet;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** Every operation of NNAPI 1.3 is defined. */
class CompletenessTest {
  @Test
  void noDefinitionIsMissing() {
    Set<OperationCode> missing = EnumSet.allOf(OperationCode.class);
    missing.removeIf(code -> OperationCatalog.standard().find(code).isPresent());
    assertEquals(Set.of(), missing);
  }

  @Test
  void eachDefinitionIsFoundUnderItsOwnName() {
    for (OperationCode code : OperationCode.values()) {
      assertEquals(code, OperationCatalog.standard().find(code).orElseThrow().type());
    }
  }
}
