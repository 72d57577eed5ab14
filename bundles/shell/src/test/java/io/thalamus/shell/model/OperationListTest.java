// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.model;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.thalamus.model.OperationCode;
import java.util.List;
import org.junit.jupiter.api.Test;

class OperationListTest {
  @Test
  void runsAreShort() {
    assertEquals("0-3, 5, 7-8", OperationList.runs(List.of(0, 1, 2, 3, 5, 7, 8)));
    assertEquals("", OperationList.runs(List.of()));
    assertEquals(
        "CONV_2D 2, ADD",
        OperationList.text(
            List.of(OperationCode.ADD, OperationCode.CONV_2D, OperationCode.CONV_2D)));
  }
}
