// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration.run;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;

class OperationsPageTest {
  @Test
  void thePageSaysWhatDefinitionsAndDevicesSay() throws Exception {
    Path root = Path.of(System.getProperty("thalamus.root"));
    assertEquals(
        Operations.page(Devices.all()),
        Files.readString(root.resolve(Operations.PAGE)),
        Operations.PAGE + " is out of date; write it anew: " + Operations.COMMAND);
  }
}
