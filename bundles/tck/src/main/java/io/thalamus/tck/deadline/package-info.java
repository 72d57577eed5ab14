// SPDX-License-Identifier: Apache-2.0
/** The checks of deadlines, for any device: {@link io.thalamus.tck.deadline.DeadlineSuite}. */
@Export
@Version("1.0.0")
package io.thalamus.tck.deadline;

import org.osgi.annotation.bundle.Export;
import org.osgi.annotation.versioning.Version;
