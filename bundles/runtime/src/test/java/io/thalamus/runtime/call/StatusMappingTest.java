// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.call;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.thalamus.api.ResultCode;
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

  @ParameterizedTest
  @CsvSource({
    "0, 0", "1, 2", "2, 2", "3, 4", "4, 4", "5, 2", "6, 2", "7, 2", "8, 3", "9, 1", "10, 5",
    "11, 6", "12, 7", "13, 8", "14, 2",
  })
  void toTheHal(int ndk, int hal) {
    for (ResultCode code : ResultCode.values()) {
      if (code.code() == ndk) {
        assertEquals(hal, StatusMapping.toErrorStatus(code).code(), code.name());
      }
    }
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
