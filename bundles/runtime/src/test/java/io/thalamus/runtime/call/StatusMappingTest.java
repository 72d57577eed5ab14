// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.call;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.thalamus.model.ErrorStatus;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** AOSP's table of {@code common/Utils.cpp}, written down a second time. */
class StatusMappingTest {
  @ParameterizedTest
  @CsvSource({
    "0, 0", "1, 9", "2, 5", "3, 8", "4, 4", "5, 10", "6, 11", "7, 12", "8, 13",
  })
  void toTheNdk(int hal, int ndk) {
    assertEquals(ndk, StatusMapping.toResultCode(status(hal)).code());
  }

  private static ErrorStatus status(int code) {
    for (ErrorStatus status : ErrorStatus.values()) {
      if (status.code() == code) {
        return status;
      }
    }
    throw new AssertionError("no status " + code);
  }
}
