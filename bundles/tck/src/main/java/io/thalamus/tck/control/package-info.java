// SPDX-License-Identifier: Apache-2.0
/** The check that a device stops on demand, in the middle of a long operation as well. */
@Export
@Version("1.0.0")
package io.thalamus.tck.control;

import org.osgi.annotation.bundle.Export;
import org.osgi.annotation.versioning.Version;
