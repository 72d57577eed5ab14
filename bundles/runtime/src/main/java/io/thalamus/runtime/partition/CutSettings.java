// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.partition;

import io.thalamus.runtime.measurement.Measurements;
import io.thalamus.runtime.policy.PartitionPolicy;
import java.util.OptionalDouble;

/**
 * By what models are cut. Immutable.
 *
 * @param policy chooses the devices
 * @param levels what operations need
 * @param measurements what they take
 * @param powerBudget see {@link io.thalamus.api.CompilationOptions#powerBudget}
 * @param isApart whether each operation is a step of its own: to measure it
 */
record CutSettings(
    PartitionPolicy policy,
    FeatureLevels levels,
    Measurements measurements,
    OptionalDouble powerBudget,
    boolean isApart) {}
