// SPDX-License-Identifier: Apache-2.0
/** Text for people: tables, bars, colours, and sizes, times and numbers with their units. */
@Export
@Version("1.0.0")
package io.thalamus.console.text;

import org.osgi.annotation.bundle.Export;
import org.osgi.annotation.versioning.Version;
