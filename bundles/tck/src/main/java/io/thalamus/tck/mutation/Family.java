// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.mutation;

/** A family of faults of the vendor test suite of NN HAL 1.3. */
public sealed interface Family permits MutationFamily, RequestFamily {
  /** The name of the family in AOSP, without {@code Test}. */
  String aospName();

  /** Returns how many mutations AOSP's family makes of its {@link #AOSP_MODELS} models. */
  int aospCount();

  /** The number of models that AOSP's counts are over. */
  int AOSP_MODELS = 3_801;
}
