"""Folders of images: PNG and DICOM files beside a table that says what each shows."""
