// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cpu;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.thalamus.driver.OperationTable.Key;
import io.thalamus.model.OperandCode;
import io.thalamus.operations.OperationCatalog;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;

/** The reference device has kernels for exactly what the definitions name. */
class ClaimsTest {
  @Test
  void everyOperationHasAKernelOnEachOfItsTypes() {
    OperationCatalog catalog = OperationCatalog.standard();
    Set<String> defined = new TreeSet<>();
    catalog
        .types()
        .forEach(
            operation ->
                catalog
                    .find(operation)
                    .orElseThrow()
                    .types()
                    .types()
                    .forEach(type -> defined.add(operation.text() + " " + type.text())));
    Set<String> kernels = new TreeSet<>();
    for (Key key : new CpuDevice("1.0.0").table().keys()) {
      // Definitions name no types of extensions.
      if (key.type() instanceof OperandCode) {
        kernels.add(key.operation().text() + " " + key.type().text());
      }
    }
    assertEquals(defined, kernels);
  }
}
